#ifndef RL_VALUE_EXPLAINED_VARIANCE_H_
#define RL_VALUE_EXPLAINED_VARIANCE_H_

// Returns the share of the returns' variance that the values predict: 1 - Var(R - V) / Var(R) (Stable-Baselines3's
// explained_variance). 1: everything, 0: no more than a constant, below 0: less than a constant. Departure: 0, not NaN,
// where all returns are equal or there are none.

#include "absl/types/span.h"

namespace reprise::rl {

// Computed over the unmasked tokens of a batch, in the order of samples and positions. Sizes must be equal. Pure.
double ExplainedVariance(absl::Span<const double> values, absl::Span<const double> returns);

// Of the values and returns of a step, over the tokens that count.
struct ValueSummary {
  double explained_variance = 0, mean_value = 0, mean_return = 0;
};

}  // namespace reprise::rl

#endif  // RL_VALUE_EXPLAINED_VARIANCE_H_
