#include "rl/advantage/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

// Sum of f(value) over scorable values in the order that the header states.
template <typename Function>
double BlockedSum(absl::Span<const double> values, Function f) {
  std::vector<double> block_sums;
  for (size_t begin = 0; begin < values.size(); begin += kStatisticsBlock) {
    double sum = 0.0;
    for (double value : values.subspan(begin, kStatisticsBlock)) {
      if (!std::isnan(value)) sum += f(value);
    }
    block_sums.push_back(sum);
  }
  return kernels::TreeSum(block_sums);
}

}  // namespace

double SumOfScorable(absl::Span<const double> values) {
  return BlockedSum(values, [](double value) { return value; });
}

int64_t CountScorable(absl::Span<const double> values) {
  int64_t count = 0;
  for (double value : values) count += std::isnan(value) ? 0 : 1;
  return count;
}

double MeanOfScorable(absl::Span<const double> values) {
  return SumOfScorable(values) / static_cast<double>(CountScorable(values));
}

double DeviationOfScorable(absl::Span<const double> values, int64_t ddof) {
  const int64_t count = CountScorable(values);
  if (count <= ddof) return std::numeric_limits<double>::quiet_NaN();
  const double mean = MeanOfScorable(values);
  const double squares = BlockedSum(values, [mean](double value) { return (value - mean) * (value - mean); });
  return std::sqrt(squares / static_cast<double>(count - ddof));
}

bool AllScorableEqual(absl::Span<const double> values) {
  double first = std::numeric_limits<double>::quiet_NaN();
  for (double value : values) {
    if (std::isnan(value)) continue;
    if (std::isnan(first)) first = value;
    if (value != first) return false;
  }
  return true;
}

}  // namespace reprise::rl
