#include "rl/evaluation/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {

Interval WilsonInterval(int64_t n, int64_t c) {
  CHECK_GE(c, 0);
  CHECK_LE(c, n);
  if (n == 0) return {};
  const double count = static_cast<double>(n), p = static_cast<double>(c) / count, z2 = kZ95 * kZ95;
  const double scale = 1.0 + z2 / count, center = p + z2 / (2.0 * count);
  const double half = kZ95 * std::sqrt(p * (1.0 - p) / count + z2 / (4.0 * count * count));
  // Exactly the ends where rounding would miss them.
  return {c == 0 ? 0.0 : std::max(0.0, (center - half) / scale), c == n ? 1.0 : std::min(1.0, (center + half) / scale)};
}

Interval MeanInterval(absl::Span<const double> values) {
  if (values.size() < 2) return {};
  const double count = static_cast<double>(values.size()), mean = kernels::TreeSum(values) / count;
  std::vector<double> squares;
  for (const double value : values) squares.push_back((value - mean) * (value - mean));
  const double half = kZ95 * std::sqrt(kernels::TreeSum(squares) / (count - 1.0) / count);
  return {std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

}  // namespace reprise::rl
