#include "rl/learner/step_inputs.h"

#include <utility>

#include "rl/learner/task_batch.h"

namespace reprise::rl {

std::vector<ShardInput> ShardInputsOf(const ShardMap& shards, int rank, const Step& step) {
  const ShardRange range = shards.ShardsOf(rank);
  std::vector<ShardInput> inputs;
  for (int shard = range.begin; shard < range.end; ++shard) {
    ShardInput input;
    input.first_group = FirstPromptOfShard(step.prompts, shards.shards(), shard) - step.first_prompt;
    const int64_t end = FirstPromptOfShard(step.prompts, shards.shards(), shard + 1) - step.first_prompt;
    for (int64_t p = input.first_group; p < end; ++p) {
      TrainingGroup group = {step.share.task_P[static_cast<size_t>(p)].tokens, {}};
      for (int64_t g = 0; g < step.generations; ++g) {
        group.completion_G.push_back(step.share.episode_N[step.IndexOf(p, g)].tokens);
      }
      input.groups.push_back(std::move(group));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace reprise::rl
