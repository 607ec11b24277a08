#ifndef PIPELINES_EVALUATION_TARGET_H_
#define PIPELINES_EVALUATION_TARGET_H_

// The target of `evaluate`: the weights of a run, or a model directory.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipelines/program/configuration.h"
#include "pipelines/stored/model_task.h"
#include "pipelines/stored/stored_weights.h"
#include "rl/config/config.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/step_record.h"
#include "rl/workload/run_parts.h"

namespace reprise {

struct EvaluationRequest {
  std::string target;  // RUN.h5, the directory of a run, which may be unfinished, or that of a model
  std::string config_path, model_path, data_path, held_out_path, process_command;
  StepChoice step;
  int64_t samples = -1;  // -1: as configured
  KeyEdits keys;
};

struct EvaluationTarget {
  rl::Config config;  // checked for `ranks`
  bool is_run = false;
  std::string run_path;                          // if is_run: run.h5, or the directory of a run without one
  std::optional<ModelTask> task = std::nullopt;  // of a model directory that is evaluated on its own task
  // What a model directory says of the run that wrote it, on whichever problems it is evaluated; an error where its
  // file cannot be read.
  absl::StatusOr<std::optional<ModelTask>> origin = std::nullopt;
};

// Returns the configuration for the evaluation: for a run its own, changed by the request, which may override only keys
// of [evaluation] and [execution]; for a model the configuration that the request names, with any key overridden, or
// without one that of the model's own task (pipelines/stored/model_task.h), as for a run.
// InvalidArgument or FailedPrecondition, with a remedy, for a request that does not match its target; NotFound.
absl::StatusOr<EvaluationTarget> ResolveTarget(const EvaluationRequest& request, int64_t ranks);

struct EvaluatedModel {
  rl::RunParts parts;  // whose model has the requested weights
  int64_t step = 0;    // the training step of the weights; 0: a model directory
  std::vector<rl::TaskRecord> tasks;
  // Whether a file or a share excludes the tasks from training and none was trained on, by this run or by an earlier
  // one of its weights, as far as they are of this program. If not, or if it is uncertain, `remark` gives the reason.
  bool held_out = false;
  std::string remark = {};
  // The external process's replies, if the run has already evaluated these weights in the same way: it is then not
  // called again.
  std::optional<std::vector<rl::EvaluationReply>> stored = std::nullopt;
};

// Errors: those of the files; NotFound for a step without weights.
absl::StatusOr<EvaluatedModel> LoadEvaluated(const EvaluationRequest& request, const EvaluationTarget& target,
                                             int ranks_on_this_machine);

// The same for another workload than completions, whose evaluation has no tasks of that kind. InvalidArgument for a
// target that is no run of a workload without model directories; else as above.
absl::StatusOr<EvaluatedModel> LoadPolicy(const EvaluationRequest& request, const EvaluationTarget& target,
                                          int ranks_on_this_machine);

}  // namespace reprise

#endif  // PIPELINES_EVALUATION_TARGET_H_
