#ifndef RL_ADVANTAGE_OPTIMAL_VALUE_H_
#define RL_ADVANTAGE_OPTIMAL_VALUE_H_

// What the best policy near a reference earns from a prompt, estimated from completions of the reference (A*-PO;
// Brantley et al., 2025, arXiv 2505.20686, equation 5), as TRL's A2POTrainer:
//   V* = beta1 log( mean_i exp(R_i / beta1) ),
// which goes from the greatest of the R_i (beta1 near 0) to their mean (beta1 large).
// Departure: theirs samples for every prompt of a data set once, before training; here the reference is asked when a
// prompt is drawn, so that tasks that are made as they are drawn have values too, and one that comes again has another
// estimate.

#include "absl/types/span.h"

namespace reprise::rl {

struct OptimalValueOptions {
  double beta1 = 0.5;                // above 0 (checked)
  bool filter_all_incorrect = true;  // no value for a prompt whose rewards are all 0: there is nothing to learn from it
};

// NaN where there is none: of no reward, after those that are NaN (unscorable) are left out. Pure.
double OptimalValue(absl::Span<const double> rewards, const OptimalValueOptions& options);

}  // namespace reprise::rl

#endif  // RL_ADVANTAGE_OPTIMAL_VALUE_H_
