#ifndef RL_ADVANTAGE_GROUP_RELATIVE_H_
#define RL_ADVANTAGE_GROUP_RELATIVE_H_

// Group-relative advantages (GRPO; Shao et al., DeepSeekMath, 2024, section 4.1.2), with the conventions of TRL:
//   A_i = (R_i - mean of its group) / (s + epsilon),   s: Bessel-corrected deviation of the group, or of the whole
//   batch;
// `none` leaves out the division (Dr. GRPO; Liu et al., 2025). Departures: a group whose scorable rewards are all equal
// has advantage exactly 0 (TRL: whatever the rounding of the mean leaves, over epsilon).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr double kAdvantageEpsilon = 1e-4;  // what TRL adds to a standard deviation before it divides

enum class ScaleRewards { kGroup, kBatch, kNone };

// "group", "batch", "none".
absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name);
absl::string_view ScaleRewardsName(ScaleRewards scale);

// rewards_N: the groups of `num_generations` samples one after another; NaN is unscorable: left out of means and
// deviations, advantage 0. Pure; a permutation of the groups permutes the result, bit for bit unless `scale` is kBatch.
std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, double epsilon = kAdvantageEpsilon);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_GROUP_RELATIVE_H_
