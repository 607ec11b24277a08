#include "rl/advantage/group_relative.h"

#include <cmath>

#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kNames[] = {"group", "batch", "none"};  // in the order of the enumeration

}  // namespace

absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<ScaleRewards>(i);
  }
  return UnknownName("scale_rewards", name, kNames);
}

absl::string_view ScaleRewardsName(ScaleRewards scale) { return kNames[static_cast<size_t>(scale)]; }

Divisor DivisorOf(absl::Span<const double> rewards, const Normalization& normalization) {
  if (normalization.lone_sample_keeps_reward && CountScorable(rewards) == 1) return {1.0 + normalization.epsilon, true};
  if (AllScorableEqual(rewards)) return {};
  return {DeviationOfScorable(rewards, normalization.ddof) + normalization.epsilon, true};
}

Normalization ForGroupsOf(int64_t num_generations, Normalization normalization) {
  normalization.lone_sample_keeps_reward &= num_generations == 1;
  return normalization;
}

std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, const Normalization& given) {
  CHECK_GE(num_generations, 1);
  const Normalization normalization = ForGroupsOf(num_generations, given);
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  const Divisor batch = scale == ScaleRewards::kBatch ? DivisorOf(rewards_N, normalization) : Divisor{};
  std::vector<double> advantages_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    const Divisor own = DivisorOf(group, normalization);
    const bool lone = normalization.lone_sample_keeps_reward && CountScorable(group) == 1;
    if (!own.any_signal || (scale == ScaleRewards::kBatch && !batch.any_signal)) continue;
    const double mean = lone ? 0.0 : MeanOfScorable(group);
    const double divisor = scale == ScaleRewards::kGroup   ? own.value
                           : scale == ScaleRewards::kBatch ? batch.value
                                                           : 1.0;
    for (size_t i = 0; i < group.size(); ++i) {
      if (!std::isnan(group[i])) advantages_N[begin + i] = (group[i] - mean) / divisor;
    }
  }
  return advantages_N;
}

}  // namespace reprise::rl
