#ifndef RL_ADVANTAGE_OPTIMAL_VALUE_H_
#define RL_ADVANTAGE_OPTIMAL_VALUE_H_

// The expected reward of the best policy near a reference model, estimated for a prompt from the reference's
// completions (A*-PO; Brantley et al., 2025, arXiv 2505.20686, equation 5), as TRL's A2POTrainer:
//   V* = beta1 log( mean_i exp(R_i / beta1) ),
// which goes from the greatest of the R_i (beta1 near 0) to their mean (beta1 large).
// Departure: A2POTrainer samples for every prompt of a data set once, before training; here the reference samples when
// a prompt is drawn, so that generated tasks have values too, and a prompt that is drawn again has a new estimate.

#include <cstdint>

#include "absl/types/span.h"

namespace reprise::rl {

struct OptimalValueOptions {
  int64_t num_samples = 8;           // of the reference, for each prompt
  double beta1 = 0.5;                // above 0 (checked)
  bool filter_all_incorrect = true;  // no value for a prompt whose rewards are all 0: there is nothing to learn from it

  bool operator==(const OptimalValueOptions&) const = default;
};

// Returns NaN where there is no value: no scorable reward, or filtered. Rewards that are NaN (unscorable) are skipped.
// Pure.
double OptimalValue(absl::Span<const double> rewards, const OptimalValueOptions& options);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_OPTIMAL_VALUE_H_
