#ifndef RL_TESTING_EXACT_DIVERGENCE_H_
#define RL_TESTING_EXACT_DIVERGENCE_H_

// Computes the divergence of two whole distributions over V outcomes, for heads of few actions and where the cost of
// the whole vocabulary is acceptable:
//   KL(p || q) = sum_v p_v (log p_v - log q_v) >= 0,   d KL / d logit_v = p_v (log p_v - log q_v - KL),
// the second for p = softmax(logits). It is what k1 and k3 (rl/loss/terms.h) estimate from one sample.

#include <vector>

#include "absl/types/span.h"

namespace reprise::rl {

struct ExactDivergence {
  double value = 0.0;             // exactly 0 where both distributions are equal; rounding never makes it negative
  std::vector<double> d_logit_V;  // sums to 0 up to rounding
};

// Log-probs may be -infinity (an action that is not allowed): such an outcome contributes 0. A reference log-prob must
// be finite wherever the policy's is (checked). Pure.
ExactDivergence ExactKl(absl::Span<const double> logprob_V, absl::Span<const double> ref_logprob_V);

}  // namespace reprise::rl

#endif  // RL_TESTING_EXACT_DIVERGENCE_H_
