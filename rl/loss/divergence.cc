#include "rl/loss/divergence.h"

namespace reprise::rl {

Term DivergenceTerm(double logprob, double ref_logprob, const Ratio& ratio, bool use_bias_correction) {
  const Ratio ref = RatioOf(ref_logprob - logprob);
  const double k3 = ref.value - ref.log - 1.0;
  const double d_logprob = ref.clamped ? 0.0 : 1.0 - ref.value;
  if (!use_bias_correction) return {.value = k3, .d_logprob = d_logprob};
  return {.value = k3 * ratio.value, .d_log_ratio = k3 * ratio.slope, .d_logprob = d_logprob * ratio.value};
}

}  // namespace reprise::rl
