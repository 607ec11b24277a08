#include "rl/schedule/entropy_coefficient.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::rl {

double EntropyCoefficient(const EntropyOptions& options, int64_t updates_done) {
  CHECK_GE(updates_done, 0);
  CHECK(options.decay >= 0.0 && options.decay <= 1.0);
  const double decayed = options.entropy_coef * kernels::PowInt(options.decay, updates_done);
  return std::max(std::min(options.floor, options.entropy_coef), decayed);
}

}  // namespace reprise::rl
