#ifndef RL_LOSS_DIVERGENCE_H_
#define RL_LOSS_DIVERGENCE_H_

// The divergence KL(policy || reference), per token, from the log-probs of the sampled token alone (Schulman,
// "Approximating KL divergence", 2020). With d = ref_logp - logp:
//   k1 = -d                    unbiased, may be negative; its gradient in the loss is 0 on average
//   k2 = d^2 / 2               biased; its on-policy gradient is that of the divergence
//   k3 = exp(d) - d - 1 >= 0   unbiased; its on-policy gradient is that of KL(reference || policy)
// each exactly 0 where both log-probs are equal. With bias correction it is multiplied by the importance ratio, which
// then carries a gradient too (DeepSeek-V3.2, 2025; TRL's use_bias_correction_kl): k3's gradient becomes that of the
// divergence. d is clamped to [-20, 20], with gradient 0 where it was clamped (as in verl; TRL does not clamp).
// The exact divergence needs the whole distribution: rl/testing/exact_divergence.h.

#include "rl/loss/options.h"
#include "rl/loss/ratio.h"
#include "rl/loss/terms.h"

namespace reprise::rl {

// estimator: not kExact (checked).
Term DivergenceTerm(double logprob, double ref_logprob, const Ratio& ratio, bool use_bias_correction,
                    KlEstimator estimator = KlEstimator::kK3);

}  // namespace reprise::rl

#endif  // RL_LOSS_DIVERGENCE_H_
