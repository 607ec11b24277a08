#ifndef RL_LOSS_TERMS_H_
#define RL_LOSS_TERMS_H_

#include <vector>

#include "rl/loss/options.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {

// A token's summand of a loss, as a function of an importance ratio and of the token's log-prob, with its partial
// derivatives; how the ratio depends on log-probs is defined in rl/loss/ratio.h. A term of the whole sequence is
// repeated at each of its tokens, which thus share it.
struct Term {
  double value = 0.0;
  double d_log_ratio = 0.0;  // with respect to the logarithm of the ratio, before clamping
  double d_logprob = 0.0;    // with respect to the token's log-prob outside the ratio
  // With respect to a function of all the sequence's log-probs: GMPO's mean (gmpo.h), a regression's sum.
  double d_sequence = 0.0;
};

// The clipped surrogate of PPO (Schulman et al., 2017, equation 7) with a clip for each side (DAPO, 2025) and the cap
// of two-sided clipping (INTELLECT-2, 2025), as in TRL:
//   -min( min(r, delta) A, clip(r, 1 - epsilon, 1 + epsilon_high) A ),
// and, where A < 0, at most -dual_clip A (dual clip; Ye et al., 2020, arXiv 1912.09729, as verl's clip_ratio_c).
// Where both branches are equal the derivative is the mean of theirs, as in PyTorch's min.
Term ClippedSurrogate(const Ratio& ratio, double advantage, const LossOptions& options);

// Return whether TRL counts the token as clipped: min(r, delta) below the range with A < 0, above it with A > 0. (A
// delta within the range therefore hides the clipping above.)
bool IsLowClipped(const Ratio& ratio, double advantage, const LossOptions& options);
bool IsHighClipped(const Ratio& ratio, double advantage, const LossOptions& options);

// Returns whether the dual clip bounds the term (verl's pg_clipfrac_lower counts these).
bool IsDualClipped(const Ratio& ratio, double advantage, const LossOptions& options);

// Without any clip: -r A.
Term UnclippedSurrogate(const Ratio& ratio, double advantage);

// Without any ratio: -A logp (REINFORCE; Williams, 1992).
Term ReinforceTerm(double logprob, double advantage);

// CISPO (MiniMax-M1, 2025) as TRL defines it: REINFORCE weighted by the capped ratio, which carries no gradient,
//   -min(r, epsilon_high) A logp.
// Other projects differ: verl clips on both sides around 1, open-instruct caps at 1 + epsilon_high.
Term CispoTerm(const Ratio& ratio, double logprob, double advantage, const LossOptions& options);

// Returns whether the ratio was capped: r > epsilon_high with A > 0 (TRL's cispo_clip_ratio counts these).
bool IsCispoCapped(const Ratio& ratio, double advantage, const LossOptions& options);

// SAPO (soft adaptive policy optimization; Qwen, 2025), as in TRL: a smooth gate in place of the clip,
//   -(4 / tau) sigmoid(tau (r - 1)) A,   tau: sapo_temperature_pos where A > 0, else sapo_temperature_neg.
Term SapoTerm(const Ratio& ratio, double advantage, const LossOptions& options);

// VESPO (variational sequence-level soft policy optimization, 2026), as in TRL: REINFORCE with one weight per sequence,
// which carries no gradient,
//   -phi A logp,   phi = W^k exp(lambda (1 - W)),   log W = clip(sum_t clip(log r_t, -20, 20), log 1e-8, 20),
// with (k, lambda) selected by the advantage's sign and lambda >= 1e-4.

// Returns phi of a sequence; log_ratio_T: from LogRatios.
double VespoWeight(const std::vector<double>& log_ratio_T, double advantage, const VespoOptions& options);

Term VespoTerm(double weight, double logprob, double advantage);

// The regression of A*-PO (Brantley et al., "Accelerating RL for LLM Reasoning with Optimal Advantage Regression",
// 2025, arXiv 2505.20686, equation 7), as TRL's A2POTrainer: a completion's term is
//   (beta2 sum_t (logp_t - ref_t) - A)^2,
// where A is its reward less the prompt's optimal value (rl/advantage/optimal_value.h). It has no ratio to the sampling
// policy and no clip.

// sum_log_ratio: sum_t (logp_t - ref_t); d_sequence is the derivative with respect to it.
inline Term RegressionTerm(double sum_log_ratio, double advantage, double beta2) {
  const double error = beta2 * sum_log_ratio - advantage;
  return {.value = error * error, .d_sequence = 2.0 * beta2 * error};
}

// The divergence KL(policy || reference), per token, from the log-probs of the sampled token alone (Schulman,
// "Approximating KL divergence", 2020). With d = ref_logp - logp:
//   k1 = -d                    unbiased, may be negative; its gradient in the loss is 0 on average
//   k2 = d^2 / 2               biased; its on-policy gradient is that of the divergence
//   k3 = exp(d) - d - 1 >= 0   unbiased; its on-policy gradient is that of KL(reference || policy)
// each exactly 0 where both log-probs are equal. With bias correction it is multiplied by the importance ratio, which
// then carries a gradient too (DeepSeek-V3.2, 2025; TRL's use_bias_correction_kl): k3's gradient becomes that of the
// divergence. d is clamped to [-20, 20], with gradient 0 where it was clamped (as in verl; TRL does not clamp).
// The exact divergence needs the whole distribution: rl/testing/exact_divergence.h.
// estimator: not kExact (checked).
Term DivergenceTerm(double logprob, double ref_logprob, const Ratio& ratio, bool use_bias_correction,
                    KlEstimator estimator = KlEstimator::kK3);

}  // namespace reprise::rl

#endif  // RL_LOSS_TERMS_H_
