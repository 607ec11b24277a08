#ifndef RL_ADVANTAGE_GROUP_RELATIVE_H_
#define RL_ADVANTAGE_GROUP_RELATIVE_H_

// Group-relative advantages (GRPO; Shao et al., DeepSeekMath, 2024, section 4.1.2), with the conventions of TRL:
//   A_i = (R_i - mean of its group) / (s + epsilon),   s: Bessel-corrected deviation of the group, or of the whole
//   batch;
// `none` omits the division (Dr. GRPO; Liu et al., 2025). verl uses another epsilon, and lets a lone sample keep its
// reward, as if the mean were 0 and the deviation 1. Departure: a group whose scorable rewards are all equal has
// advantage exactly 0 (TRL: the rounding error of the mean, divided by epsilon).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr double kAdvantageEpsilon = 1e-4;  // what TRL adds to a standard deviation before it divides

enum class ScaleRewards { kGroup, kBatch, kNone };

// How rewards are divided by a deviation; the defaults are TRL's.
struct Normalization {
  double epsilon = kAdvantageEpsilon;
  int64_t ddof = 1;  // 0: no Bessel correction
  // Applies only where num_generations is 1: the only scorable sample of a larger group has advantage 0, because this
  // option is not meant for it.
  bool lone_sample_keeps_reward = false;
};

// The divisor: the deviation of the scorable rewards plus epsilon; 1 + epsilon where a lone sample
// keeps its reward.
struct Divisor {
  double value = 1.0;
  bool any_signal = false;  // false: the rewards are all equal, so that the advantages are 0
};
Divisor ComputeDivisor(absl::Span<const double> rewards, const Normalization& normalization);

// Returns the normalization for groups of `num_generations` samples: lone_sample_keeps_reward is cleared if it is not
// 1.
Normalization AdjustForGroupSize(int64_t num_generations, Normalization normalization);

// "group", "batch", "none".
absl::StatusOr<ScaleRewards> ParseScaleRewards(absl::string_view name);
absl::string_view ScaleRewardsName(ScaleRewards scale);

// rewards_N: the groups of `num_generations` samples one after another; NaN is unscorable: excluded from means and
// deviations, advantage 0. Pure; a permutation of the groups permutes the result, bit for bit unless `scale` is kBatch.
std::vector<double> GroupRelativeAdvantages(absl::Span<const double> rewards_N, int64_t num_generations,
                                            ScaleRewards scale, const Normalization& given = {});

// Advantages against a given baseline: A_i = (R_i - b_i) / (s + epsilon), where s is the deviation of the rewards of
// the group or of the whole batch; or undivided. Departure: where the rewards from which s is computed are all equal,
// the advantage is exactly 0. rewards_N as in GroupRelativeAdvantages; NaN on either side gives 0. Pure.
std::vector<double> ScaledAdvantages(absl::Span<const double> rewards_N, absl::Span<const double> baseline_N,
                                     int64_t num_generations, ScaleRewards scale, const Normalization& normalization);

// The minimum-variance baseline under the assumption that a sequence's squared score grows as its length (OPO; Hao et
// al., 2025, arXiv 2505.23585): b = sum_i l_i R_i / sum_i l_i over the group. Departure: where all rewards are equal
// the baseline is exactly that reward, without rounding.
//
// Returns, for each sample, the baseline of its group. length_N: unmasked tokens; rewards_N as in
// GroupRelativeAdvantages: unscorable samples (NaN) are excluded; 0 for groups that have only those. Where no scorable
// sample has a token, all have the same weight. Pure.
std::vector<double> LengthWeightedBaseline(absl::Span<const double> rewards_N, absl::Span<const int64_t> length_N,
                                           int64_t num_generations);

// Dynamic sampling (DAPO; Yu et al., 2025, arXiv 2503.14476, section 3.2): groups whose rewards are all equal carry no
// signal and are dropped by a weight of 0 (Sequence::weight, SequenceSize::weight): they count neither in the gradient
// (including a divergence or an entropy bonus) nor in its divisor. No shape changes. Departure: the paper draws further
// prompts until the batch is full again; here the batch is smaller.
// Returns 1 for samples of groups with a signal, 0 for those of groups whose scorable rewards are all equal (max == min
// exactly), and for samples that could not be scored (NaN). rewards_N as in GroupRelativeAdvantages. Pure.
std::vector<double> DynamicSamplingWeights(absl::Span<const double> rewards_N, int64_t num_generations);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_GROUP_RELATIVE_H_
