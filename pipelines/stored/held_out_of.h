#ifndef PIPELINES_STORED_HELD_OUT_OF_H_
#define PIPELINES_STORED_HELD_OUT_OF_H_

// Whether problems that weights are evaluated on were held out of their training, as far as the training's
// configuration and its files' digests prove it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/artifact/format/run_header.h"
#include "pipelines/stored/model_task.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "rl/workload/run_parts.h"

namespace reprise {

// Returns whether a run with this configuration changes no weight.
bool TrainsNothing(const rl::Config& config);

// Returns InvalidArgument, with a remedy, unless the problems that the share of `evaluation` holds out were held out of
// a run with `config`: a run is evaluated on a smaller share, which is a subset, or on its own. Pure.
absl::Status CheckSplit(const rl::Config& config, const rl::EvaluationConfig& evaluation);

// The problems of an evaluation.
struct EvaluatedTasks {
  const rl::Config& config;
  const rl::RunParts& parts;                 // prepared for it, or for the run that evaluates
  const std::vector<rl::TaskRecord>& tasks;  // of completions; none where a configuration draws other ones
};

// Returns whether a run with these files started from another run's weights (--init-from), of which its records say
// nothing; and the sentence that says so.
bool BeganWithOtherWeights(const std::vector<ExternalFile>& files);
std::string WhyOtherWeights();

// Returns why the tasks cannot be called held out of the training that `task` describes, whatever the weights had been
// trained on before: how many of them it may have used, as their prompts are not on the held-out side of its own split,
// or that its file of problems is not one of those that were read. "" if it used none of them. Pure.
// Errors: those of rl::ProblemForms::Create and of rl::SplitProblems.
absl::StatusOr<std::string> WhyNotHeldOut(const ModelTask& task, const EvaluatedTasks& evaluated);

// The same of all runs that trained the weights before, and also why not where one of them started from weights that
// are not listed.
absl::StatusOr<std::string> WhyNotHeldOutBefore(const std::vector<ModelTask>& earlier, const EvaluatedTasks& evaluated);

// The model of model.path, with which a run begins, and what that means for the problems that the run evaluates.
struct BaseModel {
  std::vector<StoredTraining> trainings;  // the runs that trained it (ReadTrainings)
  // Why the problems of the run's own evaluations cannot be called held out: the run itself trains on some, or the runs
  // before it may have done so. "" where neither is known, and where there are none.
  std::string why_not_held_out;
};

// Returns the base of a run with this configuration, prepared for training, and warns (parts->warnings) where
// evaluations of the run are not held out of it. Errors: those of ReadTrainings, InterpretTrainings and above.
absl::StatusOr<BaseModel> JudgeBaseModel(const rl::Config& config, rl::RunParts* parts);

}  // namespace reprise

#endif  // PIPELINES_STORED_HELD_OUT_OF_H_
