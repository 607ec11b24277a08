#ifndef RL_EPISODES_TASK_BATCH_H_
#define RL_EPISODES_TASK_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// Returns the record of the `prompt`-th task of its step, without its tokens.
TaskRecord MakeTaskRecord(int64_t prompt, data::Task task);

// Returns the tokens of a text of the problem that messages call `name`. InvalidArgument, quoting the text, where the
// tokenizer has no token for a part of it.
absl::StatusOr<std::vector<int32_t>> EncodeText(const Config& config, const models::Tokenizer& tokenizer,
                                                const std::string& text, const std::string& name);

// Returns the tasks [begin, end) of a step with their tokens. A pure function of the configuration and the place:
// prompt p of step s is the problem at place (s - 1) * prompts + p of data::ShuffledIndex over `problems`, or, where
// there are none (data.path is empty), the environment's or else the generated task of step s and index p.
// InvalidArgument, naming the prompt, when one has no tokens, or leaves no room for a completion (in the SFT phase: for
// its answer) within `positions`.
absl::StatusOr<std::vector<TaskRecord>> DrawTasks(const Config& config, const std::vector<data::Task>& problems,
                                                  const models::Tokenizer& tokenizer, int64_t positions, Phase phase,
                                                  int64_t step, int64_t begin, int64_t end);

}  // namespace reprise::rl

#endif  // RL_EPISODES_TASK_BATCH_H_
