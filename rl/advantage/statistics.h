#ifndef RL_ADVANTAGE_STATISTICS_H_
#define RL_ADVANTAGE_STATISTICS_H_

// Mean and standard deviation of rewards, skipping those that could not be scored (NaN), and whitening by them. Sums
// run in blocks of kStatisticsBlock values in ascending order, and over the blocks in the fixed tree of kernels/sums: a
// group of up to that size is one block, whose sum is in the order of the samples, and every batch has one fixed order.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr int64_t kStatisticsBlock = 64;  // part of the numeric contract

// Sum of the values that are not NaN; 0 for none.
double SumOfScorable(absl::Span<const double> values);

int64_t CountScorable(absl::Span<const double> values);

// NaN when nothing is scorable.
double MeanOfScorable(absl::Span<const double> values);

// Divided by n - ddof (1: Bessel-corrected, as TRL and verl; 0: NumPy's), in two passes; NaN when no more than ddof
// values are scorable. ddof: 0 or 1.
double DeviationOfScorable(absl::Span<const double> values, int64_t ddof = 1);

// Whether max == min exactly among the scorable values; true for none or one. The only test of "no signal" that
// rounding cannot defeat: seven rewards of 0.1f have a standard deviation of 8e-9.
bool AllScorableEqual(absl::Span<const double> values);

// TRL's batch z-score, (v - mean) / (Bessel-corrected deviation + epsilon). `values_N` holds groups of
// `num_generations` neighbours, each centred already (so that the batch mean is rounding only); NaN is unscorable and
// becomes 0. A group whose scorable values are all equal carries no signal and becomes exactly 0.
std::vector<double> WhitenCentredGroups(absl::Span<const double> values_N, int64_t num_generations, double epsilon);

inline constexpr double kWhitenVarianceEpsilon = 1e-8;

// Whitens over all unmasked tokens of a batch, as PPO and REINFORCE++ do (TRL's and verl's masked_whiten):
//   (v - mean) / sqrt(variance + 1e-8),   variance: Bessel-corrected.
// Departure: values that are all equal (or a single value) carry no signal and become exactly 0. `values`: those of
// unmasked tokens, in the order of samples and positions; finite.
std::vector<double> WhitenTokens(absl::Span<const double> values);

// The same with the mean added again, (v - mean) / sqrt(variance + 1e-8) + mean: how PPO scales the rewards of tokens
// (TRL's masked_whiten with shift_mean off). Values that are all equal stay as they are.
std::vector<double> ScaleTokens(absl::Span<const double> values);

// A baseline from earlier batches (Williams, 1992): the exponentially weighted mean of their mean rewards,
//   s' = decay s + (1 - decay) mean,   w' = decay w + (1 - decay),   baseline = s / w, 0 before the first batch.
// Rewards are clipped first (reward_clip_range). The baseline does not depend on the batch that it is subtracted from,
// so that the gradient stays unbiased.

// State between steps; stored in a checkpoint.
struct RunningMean {
  double sum = 0.0;
  double weight = 0.0;

  double baseline() const { return weight == 0.0 ? 0.0 : sum / weight; }
  bool operator==(const RunningMean&) const = default;
};

// Returns the state after a batch of these rewards; unchanged if no reward is scorable. 0 <= decay < 1 (checked). Pure.
RunningMean Next(const RunningMean& mean, absl::Span<const double> rewards_N, double decay);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_STATISTICS_H_
