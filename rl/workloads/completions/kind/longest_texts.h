#ifndef RL_WORKLOADS_COMPLETIONS_KIND_LONGEST_TEXTS_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_LONGEST_TEXTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"

namespace reprise::rl {

// The expected longest texts of a run, in tokens.
struct LongestTexts {
  int64_t prompt = 1;
  int64_t sft = 1;  // a prompt and its answer together; 0 without an SFT phase
};

// Finds them in the first prompts of the first steps, at most some thousands, which is usually exact for tasks of
// bounded length; or in all problems of data.path. Errors are those of DrawTasks, including a text that exceeds the
// model's positions.
absl::StatusOr<LongestTexts> FindLongestTexts(const Config& config, const std::vector<data::Task>& problems,
                                              const models::Tokenizer& tokenizer, int64_t positions);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_LONGEST_TEXTS_H_
