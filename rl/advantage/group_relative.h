#ifndef RL_ADVANTAGE_GROUP_RELATIVE_H_
#define RL_ADVANTAGE_GROUP_RELATIVE_H_

// Group-relative advantages (GRPO; Shao et al., DeepSeekMath, 2024, section 4.1.2), with the conventions of TRL:
//   A_i = (R_i - mean of its group) / (s + epsilon),   s: Bessel-corrected deviation of the group, or of the whole
//   batch;
// `none` leaves out the division (Dr. GRPO; Liu et al., 2025). verl differs by its epsilon, and by leaving a lone
// sample its reward, as if of mean 0 and deviation 1. Departures: a group whose scorable rewards are all equal has
// advantage exactly 0 (TRL: whatever the rounding of the mean leaves, over epsilon).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr double kAdvantageEpsilon = 1e-4;  // what TRL adds to a standard deviation before it divides

enum class ScaleRewards { kGroup, kBatch, kNone };

// How a deviation divides; the defaults are TRL's.
struct Normalization {
  double epsilon = kAdvantageEpsilon;
  int64_t ddof = 1;  // 0: no Bessel correction
  // Where num_generations is 1, and there alone: a sample that is the only scorable one of a greater group has nothing
  // to be compared with, which is not what was asked for.
  bool lone_sample_keeps_reward = false;
};

// What a deviation comes to as a divisor: of the scorable rewards, epsilon included; 1 + epsilon where a lone sample
// keeps its reward.
struct Divisor {
  double value = 1.0;
  bool any_signal = false;  // false: the rewards are all equal and nothing can be divided
};
Divisor DivisorOf(absl::Span<const double> rewards, const Normalization& normalization);

// The normalization of groups of that many samples: greater ones than of one keep no reward.
Normalization ForGroupsOf(int64_t num_generations, Normalization normalization);

// "group", "batch", "none".
absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name);
absl::string_view ScaleRewardsName(ScaleRewards scale);

// rewards_N: the groups of `num_generations` samples one after another; NaN is unscorable: left out of means and
// deviations, advantage 0. Pure; a permutation of the groups permutes the result, bit for bit unless `scale` is kBatch.
std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, const Normalization& given = {});

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_GROUP_RELATIVE_H_
