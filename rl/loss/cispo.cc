#include "rl/loss/cispo.h"

#include <algorithm>

namespace reprise::rl {

Term CispoTerm(const Ratio& ratio, double logprob, double advantage, const LossOptions& options) {
  const double weight = -std::min(ratio.value, options.epsilon_high) * advantage;
  return {.value = weight * logprob, .d_logprob = weight};
}

bool IsCispoCapped(const Ratio& ratio, double advantage, const LossOptions& options) {
  return ratio.value > options.epsilon_high && advantage > 0.0;
}

}  // namespace reprise::rl
