#include "rl/learner/step_inputs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "rl/learner/task_batch.h"

namespace reprise::rl {

std::vector<ShardInput> ShardInputsOf(const ShardMap& shards, int rank, const Step& step,
                                      absl::Span<const int64_t> prompts) {
  const ShardRange range = shards.ShardsOf(rank);
  std::vector<ShardInput> inputs;
  for (int shard = range.begin; shard < range.end; ++shard) {
    ShardInput input;
    const int64_t end = FirstPromptOfShard(step.prompts, shards.shards(), shard + 1);
    auto prompt =
        std::lower_bound(prompts.begin(), prompts.end(), FirstPromptOfShard(step.prompts, shards.shards(), shard));
    for (; prompt != prompts.end() && *prompt < end; ++prompt) {
      const int64_t p = *prompt - step.first_prompt;
      TrainingGroup group = {step.share.task_P[static_cast<size_t>(p)].tokens, {}};
      for (int64_t g = 0; g < step.generations; ++g) {
        group.completion_G.push_back(step.share.episode_N[step.IndexOf(p, g)].tokens);
      }
      input.groups.push_back(std::move(group));
      input.group_of.push_back(p);
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<ShardInput> ShardInputsOf(const ShardMap& shards, int rank, const Step& step) {
  std::vector<int64_t> prompts(static_cast<size_t>(step.prompts));
  std::iota(prompts.begin(), prompts.end(), 0);
  return ShardInputsOf(shards, rank, step, prompts);
}

}  // namespace reprise::rl
