#include "rl/evaluation/scores/anti_theater.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

double Mean(const std::vector<double>& values) { return kernels::TreeSum(values) / static_cast<double>(values.size()); }

// Whether the values differ is asked of the values themselves: rounding can give equal numbers a variance.
bool IsConstant(absl::Span<const double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least == *most;
}

std::vector<double> Centred(absl::Span<const double> values) {
  std::vector<double> centred(values.begin(), values.end());
  const double mean = Mean(centred);
  for (double& value : centred) value -= mean;
  return centred;
}

double Product(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> products;
  for (size_t i = 0; i < x.size(); ++i) products.push_back(x[i] * y[i]);
  return kernels::TreeSum(products);
}

std::optional<double> MeanDivergence(absl::Span<const ThoughtTrial> trials, int64_t tokens) {
  std::vector<double> divergences;
  for (const ThoughtTrial& trial : trials) {
    const size_t shorter = std::min(trial.without_tokens.size(), trial.with_tokens.size());
    const size_t longer = std::max(trial.without_tokens.size(), trial.with_tokens.size());
    if (static_cast<int64_t>(shorter) < tokens || longer == 0) continue;
    divergences.push_back(static_cast<double>(EditDistance(trial.without_tokens, trial.with_tokens)) /
                          static_cast<double>(longer));
  }
  if (divergences.empty()) return std::nullopt;
  return Mean(divergences);
}

}  // namespace

int64_t EditDistance(absl::Span<const int32_t> a, absl::Span<const int32_t> b) {
  std::vector<int64_t> distance_B(b.size() + 1);  // from the first i tokens of a to each beginning of b
  for (size_t j = 0; j <= b.size(); ++j) distance_B[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = distance_B[0];
    distance_B[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = distance_B[j + 1];
      distance_B[j + 1] = std::min({replaced, distance_B[j] + 1, diagonal + 1});
    }
  }
  return distance_B.back();
}

double Correlation(absl::Span<const double> x, absl::Span<const double> y) {
  CHECK_EQ(x.size(), y.size());
  if (x.size() < 2 || IsConstant(x) || IsConstant(y)) return 0;
  const std::vector<double> dx = Centred(x), dy = Centred(y);
  const double scale = std::sqrt(Product(dx, dx)) * std::sqrt(Product(dy, dy));
  if (!(scale > 0)) return 0;
  return std::clamp(Product(dx, dy) / scale, -1.0, 1.0);
}

absl::StatusOr<AntiTheaterResult> TestForTheater(absl::Span<const ThoughtTrial> trials,
                                                 const AntiTheaterOptions& options) {
  if (trials.empty()) {
    return absl::InvalidArgumentError("the tests for theater have no held-out text: set evaluation.num_prompts");
  }
  AntiTheaterResult result;
  result.divergence = MeanDivergence(trials, options.continuation_tokens);
  std::vector<double> gain, coherence, accuracy;
  for (const ThoughtTrial& trial : trials) {
    gain.push_back(trial.with_accuracy - trial.without_accuracy);
    coherence.push_back(trial.coherence);
    accuracy.push_back(trial.with_accuracy);
  }
  result.ablation = Mean(gain);
  result.correlation = Correlation(coherence, accuracy);
  result.divergence_passed = result.divergence && *result.divergence > options.divergence;
  result.ablation_passed = result.ablation > options.ablation;
  result.correlation_passed = result.correlation > options.correlation;
  return result;
}

std::vector<std::pair<std::string, double>> AntiTheaterMetrics(const AntiTheaterResult& result,
                                                               const std::string& prefix) {
  const std::string name = prefix + "anti_theater_";
  std::vector<std::pair<std::string, double>> metrics;
  if (result.divergence) metrics.emplace_back(name + "divergence", *result.divergence);
  metrics.emplace_back(name + "ablation", result.ablation);
  metrics.emplace_back(name + "correlation", result.correlation);
  metrics.emplace_back(name + "divergence_passed", result.divergence_passed ? 1 : 0);
  metrics.emplace_back(name + "ablation_passed", result.ablation_passed ? 1 : 0);
  metrics.emplace_back(name + "correlation_passed", result.correlation_passed ? 1 : 0);
  metrics.emplace_back(name + "all_passed", result.all_passed() ? 1 : 0);
  return metrics;
}

}  // namespace reprise::rl
