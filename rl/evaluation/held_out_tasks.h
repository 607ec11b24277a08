#ifndef RL_EVALUATION_HELD_OUT_TASKS_H_
#define RL_EVALUATION_HELD_OUT_TASKS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// Returns the problems of every evaluation of a run, with their tokens, truncated as in training (CutPrompt):
// evaluation.num_prompts of `held_out` (from a file; all if it has fewer), in an order derived from split_seed, or,
// where `held_out` is empty, held-out problems of the task. A function of the configuration alone. InvalidArgument,
// naming the problem, when one leaves no room for a completion within `positions`; else the errors of ProblemSource.
absl::StatusOr<std::vector<TaskRecord>> HeldOutTasks(const Config& config, const std::vector<data::Task>& held_out,
                                                     const models::Tokenizer& tokenizer, int64_t positions);

// Prompts on which a policy was trained, and the options by which it read them.
struct TrainedPrompts {
  std::set<std::string> prompts;  // not truncated
  const RolloutConfig& rollout;
};

// Returns the number of the tasks, which are read with the options `evaluated`, that have the canonical form
// (ProblemForms of `config`) of a trained prompt. Both are compared as they are read, because each truncates its own
// prompts. Prompts that the tokenizer cannot encode are ignored. Errors of ProblemForms::Create. Pure.
absl::StatusOr<int64_t> CountTrainedOn(const Config& config, const models::Tokenizer& tokenizer,
                                       const TrainedPrompts& trained, const std::vector<TaskRecord>& tasks,
                                       const RolloutConfig& evaluated);

// Returns WarningOfFewProblems of these tasks. Errors of ProblemForms::Create. Pure.
absl::StatusOr<std::string> WarningOfFewTasks(const Config& config, const models::Tokenizer& tokenizer,
                                              const std::vector<TaskRecord>& tasks);

}  // namespace reprise::rl

#endif  // RL_EVALUATION_HELD_OUT_TASKS_H_
