#include "models/morphogenesis/life_cycle/gradient_statistics.h"

#include <algorithm>
#include <cmath>

#include "kernels/sums/sums.h"

namespace reprise::models {
namespace {

constexpr double kSmallestNorm = 1e-8;

double SumOfSquares(absl::Span<const float> values) {
  std::vector<double> blocks(static_cast<size_t>(kernels::SumBlocks(static_cast<int64_t>(values.size()))));
  kernels::SumOfSquaresByBlock(static_cast<int64_t>(values.size()), values.data(), blocks.data());
  return kernels::TreeSum(blocks);
}

bool IsUsable(const GradientTotal& total) {
  return total.elements > 0 && std::isfinite(total.norm) && total.norm >= kSmallestNorm;
}

double RootMeanSquare(const GradientTotal& total) {
  return total.norm / std::sqrt(static_cast<double>(total.elements));
}

}  // namespace

GradientStatistics StatisticsOfNorms(absl::Span<const double> norms, const GradientLimits& limits) {
  GradientStatistics result;
  if (norms.empty()) return result;
  const double m = static_cast<double>(norms.size());
  double squares = 0;
  int vanishing = 0, exploding = 0;
  bool finite = true;
  result.min_layer_norm = result.max_layer_norm = norms[0];
  for (const double norm : norms) {
    squares += norm * norm;
    vanishing += norm < limits.vanishing ? 1 : 0;
    exploding += norm > limits.exploding ? 1 : 0;
    finite = finite && std::isfinite(norm);
    result.min_layer_norm = std::min(result.min_layer_norm, norm);
    result.max_layer_norm = std::max(result.max_layer_norm, norm);
  }
  result.true_norm = std::sqrt(squares);
  result.gradient_norm = result.true_norm / m;
  result.gradient_health = finite ? std::clamp(1 - 0.5 * vanishing / m - 0.8 * exploding / m, 0.0, 1.0) : 0.0;
  result.has_vanishing = vanishing > 0;
  result.has_exploding = exploding > 0;
  result.norm_ratio = result.max_layer_norm / std::max(result.min_layer_norm, 1e-10);
  result.is_healthy = finite && result.norm_ratio < 1000 && !result.has_exploding;
  return result;
}

GradientStatistics CollectGradientStatistics(const GradientSpans& gradients, const GradientLimits& limits) {
  std::vector<double> norms;
  int64_t elements = 0, zeros = 0, nans = 0, infinities = 0;
  for (const absl::Span<const float> gradient : gradients) {
    norms.push_back(GradientNorm(gradient));
    elements += static_cast<int64_t>(gradient.size());
    for (const float value : gradient) {
      zeros += value == 0 ? 1 : 0;
      nans += std::isnan(value) ? 1 : 0;
      infinities += std::isinf(value) ? 1 : 0;
    }
  }
  GradientStatistics result = StatisticsOfNorms(norms, limits);
  result.zero_fraction = elements == 0 ? 0.0 : static_cast<double>(zeros) / static_cast<double>(elements);
  result.nan_count = nans;
  result.inf_count = infinities;
  result.is_healthy = result.is_healthy && nans == 0 && infinities == 0 && result.zero_fraction < 0.5;
  return result;
}

double GradientNorm(absl::Span<const float> gradient) { return std::sqrt(SumOfSquares(gradient)); }

GradientTotal TotalOf(const GradientSpans& gradients) {
  GradientTotal total;
  double squares = 0;
  for (const absl::Span<const float> gradient : gradients) {
    squares += SumOfSquares(gradient);
    total.elements += static_cast<int64_t>(gradient.size());
  }
  total.norm = std::sqrt(squares);
  return total;
}

double SeedGradientRatio(const GradientTotal& host, const GradientTotal& seed) {
  if (!IsUsable(host) || !IsUsable(seed)) return 0;
  return RootMeanSquare(seed) / (RootMeanSquare(host) + 1e-8);
}

double ExponentialAverage(std::optional<double> old, double value) {
  return old.has_value() ? 0.9 * *old + 0.1 * value : value;
}

bool GradientIsolationMonitor::Record(double through_input) {
  const bool isolated = through_input < threshold_;  // NaN: not isolated
  violations_ += isolated ? 0 : 1;
  return isolated;
}

}  // namespace reprise::models
