#ifndef RL_LOSS_DIVERGENCE_H_
#define RL_LOSS_DIVERGENCE_H_

// The k3 estimate of the divergence from the reference policy (Schulman, "Approximating KL divergence", 2020), per
// token:
//   d = ref_logp - logp,   k3 = exp(d) - d - 1 >= 0, exactly 0 where both log-probs are equal.
// With bias correction it is multiplied by the importance ratio, which then carries a gradient too (DeepSeek-V3.2,
// 2025; TRL's use_bias_correction_kl). d is clamped to [-20, 20], with gradient 0 where it was (as verl; TRL does not
// clamp).

#include "rl/loss/ratio.h"
#include "rl/loss/term.h"

namespace reprise::rl {

Term DivergenceTerm(double logprob, double ref_logprob, const Ratio& ratio, bool use_bias_correction);

}  // namespace reprise::rl

#endif  // RL_LOSS_DIVERGENCE_H_
