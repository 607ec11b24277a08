#include "rl/advantage/group_relative.h"

#include <cmath>

#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kNames[] = {"group", "batch", "none"};  // in the order of the enumeration

double Divisor(absl::Span<const double> group, ScaleRewards scale, double batch_deviation, double epsilon) {
  switch (scale) {
    case ScaleRewards::kGroup:
      return DeviationOfScorable(group) + epsilon;
    case ScaleRewards::kBatch:
      return batch_deviation + epsilon;
    case ScaleRewards::kNone:
      break;
  }
  return 1.0;
}

}  // namespace

absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<ScaleRewards>(i);
  }
  return UnknownName("scale_rewards", name, kNames);
}

absl::string_view ScaleRewardsName(ScaleRewards scale) { return kNames[static_cast<size_t>(scale)]; }

std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, double epsilon) {
  CHECK_GE(num_generations, 1);
  CHECK_EQ(static_cast<int64_t>(rewards_N.size()) % num_generations, 0);
  const double batch_deviation = scale == ScaleRewards::kBatch ? DeviationOfScorable(rewards_N) : 0.0;
  std::vector<double> advantages_N(rewards_N.size(), 0.0);
  for (size_t begin = 0; begin < rewards_N.size(); begin += num_generations) {
    const absl::Span<const double> group = rewards_N.subspan(begin, num_generations);
    if (AllScorableEqual(group)) continue;
    const double mean = MeanOfScorable(group);
    const double divisor = Divisor(group, scale, batch_deviation, epsilon);
    for (size_t i = 0; i < group.size(); ++i) {
      if (!std::isnan(group[i])) advantages_N[begin + i] = (group[i] - mean) / divisor;
    }
  }
  return advantages_N;
}

}  // namespace reprise::rl
