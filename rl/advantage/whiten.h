#ifndef RL_ADVANTAGE_WHITEN_H_
#define RL_ADVANTAGE_WHITEN_H_

// Whitening of values over the whole batch: (v - mean) / (Bessel-corrected deviation + epsilon), TRL's batch z-score.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

// `values_N` holds groups of `num_generations` neighbours, each centred already (so that the batch mean is rounding
// only); NaN is unscorable and becomes 0. A group whose scorable values are all equal carries no signal and becomes
// exactly 0.
std::vector<double> WhitenCentredGroups(absl::Span<const double> values_N, int64_t num_generations, double epsilon);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_WHITEN_H_
