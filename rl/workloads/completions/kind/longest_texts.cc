#include "rl/workloads/completions/kind/longest_texts.h"

#include <algorithm>

#include "core/status/status_macros.h"
#include "rl/episodes/task_batch.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostPrompts = 4096;

// The number of prompts to examine. The first places of a file's order contain each of its problems once.
int64_t Looked(int64_t prompts, const std::vector<data::Task>& problems) {
  return problems.empty() ? std::min(prompts, kMostPrompts) : static_cast<int64_t>(problems.size());
}

int64_t Size(const std::vector<int32_t>& tokens) { return static_cast<int64_t>(tokens.size()); }

int64_t SizeOfPrompt(const TaskRecord& task) { return Size(CompletionOf(task).tokens); }

}  // namespace

absl::StatusOr<LongestTexts> FindLongestTexts(const Config& config, const std::vector<data::Task>& problems,
                                              const models::Tokenizer& tokenizer, int64_t positions) {
  LongestTexts longest = {.prompt = 1, .sft = 0};
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> tasks,
                   DrawTasks(config, problems, tokenizer, positions, Phase::kTraining, 1, 0,
                             Looked(config.rollout.prompts_per_step, problems)));
  for (const TaskRecord& task : tasks) longest.prompt = std::max(longest.prompt, SizeOfPrompt(task));
  if (config.sft.steps == 0) return longest;
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> solved,
                   DrawTasks(config, problems, tokenizer, positions, Phase::kSft, 1, 0,
                             Looked(config.sft.prompts_per_step, problems)));
  for (const TaskRecord& task : solved) {
    if (!config.environment.name.empty()) {  // demonstrations can be as long as episodes
      longest.sft = std::max(longest.sft, SizeOfPrompt(task) + config.rollout.max_completion_length);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<int32_t> answer, tokenizer.Encode(CompletionOf(task).answer));
    // The end token after the answer predicts nothing and therefore has no row.
    longest.sft = std::max(longest.sft, SizeOfPrompt(task) + Size(answer));
  }
  return longest;
}

}  // namespace reprise::rl
