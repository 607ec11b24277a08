#include "kernels/sums/moments.h"

#include <cmath>
#include <vector>

#include "kernels/sums/sums.h"

namespace reprise::kernels {

Moments MomentsOf(absl::Span<const double> values) {
  if (values.empty()) return {};
  Moments moments = {.count = static_cast<double>(values.size())};
  moments.mean = TreeSum(values) / moments.count;
  std::vector<double> squares;
  for (const double value : values) squares.push_back((value - moments.mean) * (value - moments.mean));
  moments.squares = TreeSum(squares);
  return moments;
}

Moments Merge(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count, distance = b.mean - a.mean;
  return {.count = count,
          .mean = std::fma(distance, b.count / count, a.mean),
          .squares = a.squares + b.squares + distance * distance * (a.count * b.count / count)};
}

}  // namespace reprise::kernels
