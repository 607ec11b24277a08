#include "rl/learner/step_inputs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "rl/learner/task_batch.h"

namespace reprise::rl {

namespace {

// Appends the episodes, all of one prompt, as a group.
void AppendGroup(const Step& step, absl::Span<const int64_t> episodes, ShardInput* input) {
  const int64_t p = episodes[0] / step.generations - step.first_prompt;
  TrainingGroup group = {step.share.task_P[static_cast<size_t>(p)].tokens, {}};
  std::vector<int64_t> samples;
  for (const int64_t episode : episodes) {
    samples.push_back(episode % step.generations);
    group.completion_G.push_back(step.share.episode_N[step.IndexOf(p, samples.back())].tokens);
  }
  input->groups.push_back(std::move(group));
  input->group_of.push_back(p);
  input->samples_of.push_back(std::move(samples));
}

}  // namespace

std::vector<ShardInput> ShardInputsOf(const ShardMap& shards, int rank, const Step& step,
                                      absl::Span<const int64_t> episodes) {
  const ShardRange range = shards.ShardsOf(rank);
  const auto first_of = [&](int shard) {
    const int64_t first = FirstPromptOfShard(step.prompts, shards.shards(), shard) * step.generations;
    return std::lower_bound(episodes.begin(), episodes.end(), first);
  };
  std::vector<ShardInput> inputs;
  for (int shard = range.begin; shard < range.end; ++shard) {
    ShardInput input;
    const auto end = first_of(shard + 1);
    for (auto begin = first_of(shard); begin != end;) {
      const int64_t prompt = *begin / step.generations;
      const auto next = std::find_if(begin, end, [&](int64_t n) { return n / step.generations != prompt; });
      AppendGroup(step,
                  episodes.subspan(static_cast<size_t>(begin - episodes.begin()), static_cast<size_t>(next - begin)),
                  &input);
      begin = next;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<ShardInput> ShardInputsOf(const ShardMap& shards, int rank, const Step& step) {
  std::vector<int64_t> episodes(static_cast<size_t>(step.prompts * step.generations));
  std::iota(episodes.begin(), episodes.end(), 0);
  return ShardInputsOf(shards, rank, step, episodes);
}

}  // namespace reprise::rl
