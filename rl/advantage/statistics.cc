#include "rl/advantage/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/status/check.h"
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

std::vector<double> WhitenCentredGroups(absl::Span<const double> values_N, int64_t num_generations, double epsilon) {
  const double mean = MeanOfScorable(values_N);
  const double divisor = DeviationOfScorable(values_N) + epsilon;
  std::vector<double> white_N(values_N.size(), 0.0);
  for (size_t begin = 0; begin < values_N.size(); begin += num_generations) {
    const absl::Span<const double> group = values_N.subspan(begin, num_generations);
    if (AllScorableEqual(group)) continue;
    for (size_t i = 0; i < group.size(); ++i) {
      if (!std::isnan(group[i])) white_N[begin + i] = (group[i] - mean) / divisor;
    }
  }
  return white_N;
}

std::vector<double> WhitenTokens(absl::Span<const double> values) {
  std::vector<double> white(values.size(), 0.0);
  if (AllScorableEqual(values)) return white;
  const double mean = MeanOfScorable(values), deviation = DeviationOfScorable(values);
  const double divisor = std::sqrt(deviation * deviation + kWhitenVarianceEpsilon);
  for (size_t i = 0; i < values.size(); ++i) white[i] = (values[i] - mean) / divisor;
  return white;
}

std::vector<double> ScaleTokens(absl::Span<const double> values) {
  if (AllScorableEqual(values)) return {values.begin(), values.end()};
  const double mean = MeanOfScorable(values);
  std::vector<double> scaled = WhitenTokens(values);
  for (double& value : scaled) value += mean;
  return scaled;
}

RunningMean Next(const RunningMean& mean, absl::Span<const double> rewards_N, double decay) {
  CHECK(decay >= 0.0 && decay < 1.0);
  if (CountScorable(rewards_N) == 0) return mean;
  return {.sum = decay * mean.sum + (1.0 - decay) * MeanOfScorable(rewards_N),
          .weight = decay * mean.weight + (1.0 - decay)};
}

}  // namespace reprise::rl
