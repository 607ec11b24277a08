#include "rl/evaluation/scores/best_so_far.h"

#include <cmath>

#include "core/status/check.h"

namespace reprise::rl {

BestSoFar NextBest(const BestSoFar& best, const BestOptions& options, int64_t step, double value) {
  CHECK_GE(step, 1);
  CHECK(std::isfinite(value));
  if (best.step == 0) return {step, value, value, 0};
  const double sign = options.greater_is_better ? 1.0 : -1.0;
  BestSoFar next = best;
  if (sign * (value - best.value) > 0) {
    next.step = step;
    next.value = value;
  }
  const bool counts = sign * (value - best.counted) > options.threshold;
  if (counts) next.counted = value;
  next.waited = counts ? 0 : best.waited + 1;
  return next;
}

std::vector<double> BestToNumbers(const BestSoFar& best) {
  return {static_cast<double>(best.step), best.value, best.counted, static_cast<double>(best.waited)};
}

int64_t StoredCount(double number) {
  constexpr double kGreatest = 0x1p53;
  return number >= 0 && number <= kGreatest ? static_cast<int64_t>(number) : 0;
}

BestSoFar BestFromNumbers(absl::Span<const double> numbers) {
  CHECK_EQ(numbers.size(), kBestNumbers);
  return {StoredCount(numbers[0]), numbers[1], numbers[2], StoredCount(numbers[3])};
}

}  // namespace reprise::rl
