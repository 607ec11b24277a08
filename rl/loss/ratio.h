#ifndef RL_LOSS_RATIO_H_
#define RL_LOSS_RATIO_H_

// Importance ratios between the policy in training and the sampling policy:
//   token         r_t = exp(logp_t - old_t)                       (PPO; Schulman et al., 2017)
//   sequence      s   = exp(mean_t (logp_t - old_t))              (GSPO; Zheng et al., 2025, equation 7)
//   sequence_sum  s   = exp(sum_t (logp_t - old_t))               (RLOO of TRL: the probability of the whole answer)
// Masked tokens are never read. The logarithm is clamped to [-20, 20] before exp, with gradient 0 where it was clamped
// (as automatic differentiation of a clamp has): no ratio overflows, and extreme ratios have no gradient. TRL does not
// clamp; verl and OpenRLHF do.

#include <cstdint>
#include <optional>
#include <vector>

#include "rl/loss/options.h"
#include "rl/loss/sequence.h"

namespace reprise::rl {

inline constexpr double kMaxLogRatio = 20.0;

struct Ratio {
  double log = 0.0;    // after clamping
  double value = 1.0;  // exp(log)
  double slope = 1.0;  // d value / d unclamped logarithm: value, or 0 where clamped
  bool clamped = false;
};

Ratio ComputeRatio(double log_ratio);

// Returns logp_t - old_t at unmasked tokens, 0 at the others and where there is no old_t.
std::vector<double> LogRatios(const Sequence& sequence);

// Returns the logarithm of the ratio of the sequence levels (kSequence or kSequenceSum); 0 without tokens.
double SequenceLogRatio(ImportanceLevel level, const std::vector<double>& log_ratio_T, int64_t num_tokens);

// Off-policy sequence masking (DeepSeek-V3.2, 2025, equation 9), as in TRL: a sequence with A < 0 that has become less
// probable under the policy, mean_t (old_logp - logp) > threshold, is dropped from the policy term, but not from the
// divergence term.
// log_ratio_T: from LogRatios; without a threshold nothing is masked.
bool IsOffPolicy(const std::vector<double>& log_ratio_T, int64_t num_tokens, double advantage,
                 const std::optional<double>& threshold);

}  // namespace reprise::rl

#endif  // RL_LOSS_RATIO_H_
