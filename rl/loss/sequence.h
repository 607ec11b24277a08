#ifndef RL_LOSS_SEQUENCE_H_
#define RL_LOSS_SEQUENCE_H_

// The inputs of one sequence's loss: T sampled tokens of one completion (or of all turns of an episode).

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace reprise::rl {

struct Sequence {
  absl::Span<const double> logprob_T = {};      // of the policy in training
  absl::Span<const double> old_logprob_T = {};  // of the sampling policy; empty: on-policy, the ratio of the policy
                                                // with itself (1, with a gradient)
  absl::Span<const double> ref_logprob_T = {};  // of the frozen reference; read when beta != 0
  absl::Span<const double> entropy_T = {};      // of the policy; read when an option needs entropies
  absl::Span<const uint8_t> mask_T = {};        // 0: not sampled by the policy, never read; empty: all count
  double advantage = 0.0;
  absl::Span<const double> advantage_T = {};  // empty: all tokens of all turns have `advantage`
  // Correction for tokens sampled from another distribution than that of old_logprob_T
  // (rl/loss/importance_correction.h): a factor of the policy term, without a gradient; empty: 1.
  absl::Span<const double> importance_weight_T = {};
  absl::Span<const double> exact_kl_T = {};  // rl/testing/exact_divergence.h; read when kl_estimator is kExact
  absl::Span<const int32_t> turn_T = {};     // ascending; read when turns are averaged; empty: one turn
  double weight = 1.0;                       // of the whole sequence; 0: dropped (rl/advantage/group_relative.h)
  // By which the floor of a token's entropy weight is multiplied; empty: there is no floor here.
  absl::Span<const double> entropy_floor_scale_T = {};

  int64_t size() const { return static_cast<int64_t>(logprob_T.size()); }
  bool Counts(int64_t t) const { return mask_T.empty() || mask_T[t] != 0; }
  double Advantage(int64_t t) const { return advantage_T.empty() ? advantage : advantage_T[t]; }
  int64_t num_tokens() const;  // unmasked
};

// Returns Internal, naming tensor and token, if the advantage or any value at an unmasked token is not finite. The
// caller must check it before computing a gradient.
absl::Status CheckFinite(const Sequence& sequence);

// Learning from the tokens of highest entropy only ("forking tokens"; Wang et al., "Beyond the 80/20 rule", 2025), as
// in TRL: the policy term is kept where a token's entropy is at least the (1 - top_entropy_quantile) quantile of the
// minibatch.
// Returns the threshold for the entropies of a minibatch's unmasked tokens, in any order: the linearly interpolated
// quantile, in float as in TRL. -infinity (every token is kept) for top_entropy_quantile >= 1 or no tokens.
double TopEntropyThreshold(absl::Span<const double> entropies, double top_entropy_quantile);

}  // namespace reprise::rl

#endif  // RL_LOSS_SEQUENCE_H_
