#include "rl/loss/sapo.h"

#include "kernels/math/scalar_math.h"

namespace reprise::rl {

Term SapoTerm(const Ratio& ratio, double advantage, const LossOptions& options) {
  const double tau = advantage > 0.0 ? options.sapo_temperature_pos : options.sapo_temperature_neg;
  // exp(-tau (r - 1)) is at most exp(tau), and 0 for large r: the gate is 1 there.
  const double decay = kernels::Exp(-tau * (ratio.value - 1.0));
  const double gate = 1.0 / (1.0 + decay);
  const double gate_slope = decay * gate * gate;  // d gate / d (tau (r - 1))
  return {.value = -advantage * 4.0 / tau * gate, .d_log_ratio = -advantage * 4.0 * gate_slope * ratio.slope};
}

}  // namespace reprise::rl
