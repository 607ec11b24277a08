#ifndef RL_ADVANTAGE_WHITEN_TOKENS_H_
#define RL_ADVANTAGE_WHITEN_TOKENS_H_

// Whitening over all tokens of a batch that count, as PPO and REINFORCE++ do it (TRL's and verl's masked_whiten):
//   (v - mean) / sqrt(variance + 1e-8),   variance: Bessel-corrected.
// Departure: values that are all equal (or alone) carry no signal and become exactly 0.

#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr double kWhitenVarianceEpsilon = 1e-8;

// values: those that count, in the order of samples and positions; finite. Sums run as in rl/advantage/statistics.h.
// Pure.
std::vector<double> WhitenTokens(absl::Span<const double> values);

// The same with the mean added again, (v - mean) / sqrt(variance + 1e-8) + mean: how PPO scales the rewards of tokens
// (TRL's masked_whiten with shift_mean off). Values that are all equal stay as they are. Pure.
std::vector<double> ScaleTokens(absl::Span<const double> values);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_WHITEN_TOKENS_H_
