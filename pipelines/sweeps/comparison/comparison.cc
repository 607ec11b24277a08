#include "pipelines/sweeps/comparison/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "pipelines/sweeps/comparison/student.h"

namespace reprise {
namespace {

// Step: resample, prompt: what is estimated, token: index within the resample.
constexpr Purpose kSweepBootstrap{13};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kBootstrapSeed = 1;

// Completes a difference whose value is known to `error` > 0, with so many degrees of freedom.
void Judge(double error, double degrees, double confidence, Difference* difference) {
  const double half = StudentQuantile(1 - confidence, degrees) * error;
  difference->interval = {difference->value - half, difference->value + half};
  difference->p = StudentTwoSided(difference->value / error, degrees);
}

// The least p that the exact test of n signs can have: that all n differences have the same one, either of the two.
double LeastPOfSigns(int64_t n) { return std::ldexp(1.0, static_cast<int>(std::max<int64_t>(1 - n, -1000))); }

// The same of the exact permutation test of n and m scores: that all of one are above all of the other.
double LeastPOfPermutations(int64_t n, int64_t m) {
  double p = 2;
  for (int64_t i = 1; i <= n; ++i) p *= static_cast<double>(i) / static_cast<double>(m + i);
  return std::min(1.0, p);
}

// Scores are sums of rounded numbers, so that differences which are equal need not be so in their last bits: 0.4 - 0.3
// and 0.3 - 0.2. A deviation below this share of the scores themselves is of rounding.
constexpr double kRounding = 1e-12;

double DeviationBeyondRounding(absl::Span<const double> values, double greatest_score) {
  const double deviation = StandardDeviation(values);
  return deviation <= kRounding * greatest_score ? 0 : deviation;
}

double GreatestMagnitude(absl::Span<const double> a, absl::Span<const double> b) {
  double greatest = 0;
  for (const double value : a) greatest = std::max(greatest, std::fabs(value));
  for (const double value : b) greatest = std::max(greatest, std::fabs(value));
  return greatest;
}

}  // namespace

double Mean(absl::Span<const double> values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double StandardDeviation(absl::Span<const double> values) {
  if (values.size() < 2) return 0;
  // A mean of equal values need not be that value.
  if (std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; })) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double InterquartileMean(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t cut = sorted.size() / 4;
  return Mean(absl::MakeConstSpan(sorted).subspan(cut, sorted.size() - 2 * cut));
}

double ProbabilityOfImprovement(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK(!a.empty() && !b.empty());
  int64_t halves = 0;
  for (const double of_b : b) {
    for (const double of_a : a) halves += of_b > of_a ? 2 : of_b == of_a ? 1 : 0;
  }
  return static_cast<double>(halves) / 2 / static_cast<double>(a.size() * b.size());
}

Difference PairedDifference(absl::Span<const double> a, absl::Span<const double> b, double confidence) {
  CHECK(a.size() == b.size());
  Difference difference = {.n = static_cast<int64_t>(a.size()), .interval = {-kInfinity, kInfinity}};
  if (a.empty()) return difference;
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  difference.value = Mean(differences);
  const double greatest = GreatestMagnitude(a, b);
  difference.deviation = DeviationBeyondRounding(differences, greatest);
  if (a.size() < 2) return difference;
  if (difference.deviation == 0) {
    difference.p = std::fabs(difference.value) <= kRounding * greatest ? 1 : LeastPOfSigns(difference.n);
    return difference;
  }
  const double n = static_cast<double>(a.size());
  Judge(difference.deviation / std::sqrt(n), n - 1, confidence, &difference);
  return difference;
}

Difference UnpairedDifference(absl::Span<const double> a, absl::Span<const double> b, double confidence) {
  Difference difference = {.n = static_cast<int64_t>(a.size() + b.size()), .interval = {-kInfinity, kInfinity}};
  if (a.empty() || b.empty()) return difference;
  const double greatest = GreatestMagnitude(a, b);
  const double of_a = DeviationBeyondRounding(a, greatest), of_b = DeviationBeyondRounding(b, greatest);
  difference.value = Mean(b) - Mean(a);
  difference.deviation = std::sqrt(of_a * of_a + of_b * of_b);
  if (a.size() < 2 || b.size() < 2) return difference;
  if (difference.deviation == 0) {
    const bool differs = std::fabs(difference.value) > kRounding * greatest;
    const int64_t n = static_cast<int64_t>(a.size()), m = static_cast<int64_t>(b.size());
    difference.p = differs ? LeastPOfPermutations(n, m) : 1;
    return difference;
  }
  const double n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
  const double square_a = of_a * of_a / n_a, square_b = of_b * of_b / n_b, square = square_a + square_b;
  const double degrees = square * square / (square_a * square_a / (n_a - 1) + square_b * square_b / (n_b - 1));
  Judge(std::sqrt(square), degrees, confidence, &difference);
  return difference;
}

std::vector<double> HolmAdjusted(absl::Span<const double> p, int64_t family) {
  const double tests = static_cast<double>(std::max(family, static_cast<int64_t>(p.size())));
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double greatest = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    greatest = std::max(greatest, std::min(1.0, p[order[k]] * (tests - static_cast<double>(k))));
    adjusted[order[k]] = greatest;
  }
  return adjusted;
}

int64_t SeedsNeeded(double difference, double deviation, double confidence, double power, bool is_paired) {
  constexpr int64_t kMost = 1'000'000;
  // A greater one is not needed: with one degree of freedom and a confidence of 0.999 it has a power of 0.883.
  constexpr double kMostShift = 1000;
  CHECK(confidence >= 0.5 && confidence <= 0.999 && power > 0 && power <= 0.88);
  const auto suffices = [&](int64_t n) {
    if (deviation == 0) return (is_paired ? LeastPOfSigns(n) : LeastPOfPermutations(n, n)) < 1 - confidence;
    const double degrees = static_cast<double>(is_paired ? n - 1 : 2 * n - 2);
    const double shift = std::fabs(difference) * std::sqrt(static_cast<double>(n)) / deviation;
    return NoncentralTwoSided(StudentQuantile(1 - confidence, degrees), degrees, std::min(shift, kMostShift)) >= power;
  };
  if (difference == 0) return 0;
  // Where the deviation is known and need not be estimated, as with so many degrees of freedom, fewer seeds suffice:
  // most comparisons need a few more than those.
  int64_t low = 1;
  if (deviation > 0) {
    constexpr double kKnown = 1e9, kBelow = 0.999;
    const double effect = std::fabs(difference) / deviation;
    const double quantiles = StudentQuantile(1 - confidence, kKnown) + StudentQuantile(2 * (1 - power), kKnown);
    const double least = kBelow * (quantiles / effect) * (quantiles / effect);
    if (least >= kMost) return 0;
    low = std::max(low, static_cast<int64_t>(least) - 1);
  }
  int64_t high = low + 1;
  for (int64_t step = 1; !suffices(high); step *= 2) {
    if (high >= kMost) return 0;
    low = high;
    high = std::min(high + step, kMost);
  }
  // low does not suffice, high does.
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

ConfidenceInterval BootstrapInterval(const std::vector<std::vector<double>>& samples, int64_t resamples,
                                     double confidence, int64_t what,
                                     const std::function<double(const std::vector<std::vector<double>>&)>& statistic) {
  // Of one value each there is one resample.
  if (std::all_of(samples.begin(), samples.end(), [](const std::vector<double>& each) { return each.size() == 1; })) {
    const double value = statistic(samples);
    return {value, value};
  }
  std::vector<double> values;
  std::vector<std::vector<double>> drawn = samples;
  for (int64_t r = 0; r < resamples; ++r) {
    for (size_t k = 0; k < samples.size(); ++k) {
      for (size_t i = 0; i < samples[k].size(); ++i) {
        const DrawAt at = {
            .step = static_cast<uint64_t>(r), .prompt = static_cast<uint64_t>(what), .sample = k, .token = i};
        drawn[k][i] = samples[k][DrawBelow(kBootstrapSeed, kSweepBootstrap, at, samples[k].size())];
      }
    }
    values.push_back(statistic(drawn));
  }
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size() - 1);
  const auto at = [&](double share) { return values[static_cast<size_t>(std::floor(share * last + 0.5))]; };
  return {at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

}  // namespace reprise
