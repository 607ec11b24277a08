#include "rl/schedule/entropy_coefficient.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::rl {

EntropyState InitialEntropyState(const EntropyOptions& options) { return {.coefficient = options.entropy_coef}; }

EntropyState NextEntropyState(const EntropyState& state, const EntropyOptions& options, std::optional<double> entropy) {
  if (!options.adaptive || !entropy) return state;
  CHECK(std::isfinite(*entropy));
  const bool is_low = *entropy <= options.target;
  const double moved = is_low ? std::min(state.coefficient + options.delta, options.max)
                              : std::max(state.coefficient - options.delta, options.min);
  return {.coefficient = moved, .is_low = is_low};
}

double EntropyCoefficient(const EntropyOptions& options, const EntropyState& state, int64_t steps_done) {
  if (options.adaptive) return state.is_low ? state.coefficient : 0.0;
  CHECK_GE(steps_done, 0);
  CHECK(options.decay >= 0.0 && options.decay <= 1.0);
  const double floor = std::min(options.floor, options.entropy_coef);
  if (options.steps > 0) {
    if (steps_done >= options.steps) return std::max(floor, options.end);
    const double share = static_cast<double>(steps_done) / static_cast<double>(options.steps);
    return std::max(floor, options.entropy_coef + (options.end - options.entropy_coef) * share);
  }
  return std::max(floor, options.entropy_coef * kernels::PowInt(options.decay, steps_done));
}

}  // namespace reprise::rl
