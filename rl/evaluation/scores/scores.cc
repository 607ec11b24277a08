#include "rl/evaluation/scores/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

using Metrics = std::vector<std::pair<std::string, double>>;

std::vector<int64_t> SampleCounts(int64_t n) {
  std::vector<int64_t> counts;
  for (int64_t k = 1; k < n; k *= 2) counts.push_back(k);
  if (n > 0) counts.push_back(n);
  return counts;
}

std::vector<double> Values(absl::Span<const ProblemScore> score_P,
                           const std::function<double(const ProblemScore&)>& value) {
  std::vector<double> values;
  for (const ProblemScore& score : score_P) values.push_back(value(score));
  return values;
}

double Mean(const std::vector<double>& values) { return kernels::TreeSum(values) / static_cast<double>(values.size()); }

void Add(const std::string& name, double value, const Interval& interval, Metrics& metrics) {
  metrics.emplace_back(name, value);
  metrics.emplace_back(name + "_low", interval.low);
  metrics.emplace_back(name + "_high", interval.high);
}

// Adds the mean of the rewards that are not NaN. Where there are none it has no value, and 0 would be one.
void AddReward(const std::string& name, std::vector<double> rewards, Metrics& metrics) {
  rewards.erase(std::remove_if(rewards.begin(), rewards.end(), [](double reward) { return std::isnan(reward); }),
                rewards.end());
  if (!rewards.empty()) metrics.emplace_back(name, Mean(rewards));
}

void AddGreedyAccuracy(absl::Span<const ProblemScore> score_P, Metrics& metrics) {
  const int64_t problems = static_cast<int64_t>(score_P.size());
  int64_t correct = 0;
  for (const ProblemScore& score : score_P) correct += score.greedy_correct;
  Add("eval_greedy_accuracy", static_cast<double>(correct) / static_cast<double>(problems),
      WilsonInterval(problems, correct), metrics);
}

void AddSampledAccuracy(absl::Span<const ProblemScore> score_P, int64_t n, Metrics& metrics) {
  for (const int64_t k : SampleCounts(n)) {
    const std::vector<double> pass_P = Values(score_P, [&](const auto& s) { return PassAtK(n, s.correct, k); });
    Add(absl::StrCat("eval_pass@", k), Mean(pass_P), MeanInterval(pass_P), metrics);
    if (k == 1) Add(absl::StrCat("eval_mean@", n), Mean(pass_P), MeanInterval(pass_P), metrics);
  }
}

void AddSampled(absl::Span<const ProblemScore> score_P, int64_t n, Metrics& metrics) {
  AddReward("eval_reward", Values(score_P, [](const auto& s) { return s.reward; }), metrics);
  const double tokens = Mean(Values(score_P, [](const auto& s) { return static_cast<double>(s.tokens); }));
  metrics.emplace_back("eval_completions/mean_length", tokens / static_cast<double>(n));
}

}  // namespace

Interval WilsonInterval(int64_t n, int64_t c) {
  CHECK_GE(c, 0);
  CHECK_LE(c, n);
  if (n == 0) return {};
  const double count = static_cast<double>(n), p = static_cast<double>(c) / count, z2 = kZ95 * kZ95;
  const double scale = 1.0 + z2 / count, center = p + z2 / (2.0 * count);
  const double half = kZ95 * std::sqrt(p * (1.0 - p) / count + z2 / (4.0 * count * count));
  // Sets the ends exactly where rounding would miss them.
  return {c == 0 ? 0.0 : std::max(0.0, (center - half) / scale), c == n ? 1.0 : std::min(1.0, (center + half) / scale)};
}

Interval MeanInterval(absl::Span<const double> values) {
  const double z2 = kZ95 * kZ95, count = static_cast<double>(values.size()) + z2;
  const double mean = (kernels::TreeSum(values) + z2 / 2.0) / count;
  std::vector<double> squares;
  for (const double value : values) squares.push_back((value - mean) * (value - mean));
  // The squared deviations of the added numbers: z^2/2 (m^2 + (1 - m)^2).
  const double added = z2 / 2.0 * (mean * mean + (1.0 - mean) * (1.0 - mean));
  const double half = kZ95 * std::sqrt((kernels::TreeSum(squares) + added) / count / count);
  return {std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

Metrics ScoreMetrics(absl::Span<const ProblemScore> score_P, int64_t n, bool has_accuracy) {
  CHECK(!score_P.empty());
  Metrics metrics;
  if (has_accuracy) {
    AddGreedyAccuracy(score_P, metrics);
    AddSampledAccuracy(score_P, n, metrics);
  }
  AddReward("eval_greedy_reward", Values(score_P, [](const auto& s) { return s.greedy_reward; }), metrics);
  if (n > 0) AddSampled(score_P, n, metrics);
  std::sort(metrics.begin(), metrics.end());
  return metrics;
}

std::vector<std::string> ScoreMetricNames(int64_t n, bool has_accuracy) {
  std::vector<std::string> names;
  for (const auto& [name, value] : ScoreMetrics({ProblemScore()}, n, has_accuracy)) names.push_back(name);
  return names;
}

double PassAtK(int64_t n, int64_t c, int64_t k) {
  CHECK_GE(c, 0);
  CHECK_LE(c, n);
  CHECK_GE(k, 1);
  CHECK_LE(k, n);
  if (n - c < k) return 1.0;  // any k of them hold a correct one
  if (k == 1) return static_cast<double>(c) / static_cast<double>(n);
  double none = 1.0;
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1.0 - static_cast<double>(k) / static_cast<double>(i);
  return 1.0 - none;
}

}  // namespace reprise::rl
