#include "rl/schedule/gradient_clip.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"

namespace reprise::rl {

double GradientClipFactor(double norm, double max_norm) {
  CHECK(std::isfinite(norm));
  CHECK_GE(norm, 0.0);
  CHECK_GE(max_norm, 0.0);
  if (max_norm == 0.0) return 1.0;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace reprise::rl
