#ifndef PIPELINES_HELD_OUT_OF_H_
#define PIPELINES_HELD_OUT_OF_H_

// Whether problems that weights are evaluated on were held out of their training, as far as the training's
// configuration and its files' digests prove it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipelines/stored/model_task.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "rl/workload/run_parts.h"

namespace reprise {

// The first numeric contract whose runs hold out the problems that this program does (rl/episodes/draw_problem.h).
inline constexpr int64_t kSplitByPromptSince = 2;

// Returns an error unless the problems that the share of `evaluation` holds out were held out of a run with `trained`
// and this numeric contract: a run is evaluated on a smaller share, which is a subset, or on its own. InvalidArgument
// or FailedPrecondition, with a remedy. Pure.
absl::Status CheckSplit(const rl::EvaluationConfig& trained, int64_t contract, const rl::EvaluationConfig& evaluation);

// Returns why the tasks cannot be called held out of the training that `task` describes: how many of them it may have
// used, as their prompts are not on the held-out side of its own split, or that its file of problems is not one of
// those that `parts` read. "" if it used none of them. parts: of completions, prepared for the evaluation. Pure.
// Errors: those of rl::ProblemForms::Create and of rl::SplitOf.
absl::StatusOr<std::string> WhyNotHeldOut(const ModelTask& task, const rl::RunParts& parts,
                                          const std::vector<rl::TaskRecord>& tasks);

// The same for the tasks that a configuration draws: "" only where the training drew from the same task and held out
// at least the same share. Pure.
std::string WhyNotHeldOut(const ModelTask& task, const rl::Config& config);

}  // namespace reprise

#endif  // PIPELINES_HELD_OUT_OF_H_
