#include "rl/reward/thought_reward.h"

#include <algorithm>

#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

// Returns what non-myopic rewards are compared with: the mean, or the exact value of thoughts that are all equal.
double ComputeMean(absl::Span<const Foresight> thought_K) {
  std::vector<double> logprob_K;
  for (const Foresight& thought : thought_K) logprob_K.push_back(thought.logprob);
  const auto [least, most] = std::minmax_element(logprob_K.begin(), logprob_K.end());
  if (*least == *most) return *least;
  return kernels::TreeSum(logprob_K) / static_cast<double>(logprob_K.size());
}

}  // namespace

std::vector<double> ThoughtRewards(ThoughtReward kind, bool clamp, const Foresight& base,
                                   absl::Span<const Foresight> thought_K) {
  std::vector<double> reward_K;
  if (thought_K.empty()) return reward_K;
  const double mean = ComputeMean(thought_K);
  for (const Foresight& thought : thought_K) {
    double reward = thought.logprob - mean;
    if (kind == ThoughtReward::kGraded) reward = thought.logprob - base.logprob;
    if (kind == ThoughtReward::kBinary) reward = thought.hits > base.hits ? 1.0 : 0.0;
    reward_K.push_back(clamp ? std::max(0.0, reward) : reward);
  }
  return reward_K;
}

}  // namespace reprise::rl
