#include "rl/evaluation/scores/scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;

std::map<std::string, double> ToMap(const std::vector<std::pair<std::string, double>>& metrics) {
  return {metrics.begin(), metrics.end()};
}

TEST(ScoresTest, HandValues) {
  // Two problems, four samples of each: all correct, and one correct.
  const std::vector<ProblemScore> score_P = {
      {.prompt = 0, .greedy_correct = 1, .greedy_reward = 1, .correct = 4, .reward = 1, .tokens = 12},
      {.prompt = 1, .greedy_correct = 0, .greedy_reward = 0.5, .correct = 1, .reward = 0.25, .tokens = 20}};
  const std::map<std::string, double> metrics = ToMap(ScoreMetrics(score_P, 4));
  EXPECT_EQ(metrics.at("eval_greedy_accuracy"), 0.5);
  EXPECT_EQ(metrics.at("eval_greedy_accuracy_low"), WilsonInterval(2, 1).low);
  EXPECT_EQ(metrics.at("eval_greedy_accuracy_high"), WilsonInterval(2, 1).high);
  EXPECT_EQ(metrics.at("eval_greedy_reward"), 0.75);
  EXPECT_EQ(metrics.at("eval_mean@4"), 0.625);
  EXPECT_EQ(metrics.at("eval_pass@1"), 0.625);
  EXPECT_EQ(metrics.at("eval_pass@2"), 0.75);  // 1 and 1/2
  EXPECT_EQ(metrics.at("eval_pass@4"), 1.0);
  EXPECT_EQ(metrics.at("eval_pass@2_low"), MeanInterval({1.0, 0.5}).low);
  EXPECT_EQ(metrics.at("eval_reward"), 0.625);
  EXPECT_EQ(metrics.at("eval_completions/mean_length"), 4.0);
}

TEST(ScoresTest, RewardsThatNothingCouldScoreAreLeftOutOfTheirMeans) {
  const std::vector<ProblemScore> score_P = {{.prompt = 0, .greedy_reward = std::nan(""), .reward = -2},
                                             {.prompt = 1, .greedy_reward = -1, .reward = std::nan("")}};
  const std::map<std::string, double> metrics = ToMap(ScoreMetrics(score_P, 2));
  EXPECT_EQ(metrics.at("eval_greedy_reward"), -1);
  EXPECT_EQ(metrics.at("eval_reward"), -2);
}

// 0 would be better than every reward below it.
TEST(ScoresTest, AMeanWithoutAnyRewardIsNotReported) {
  const ProblemScore unscored = {.greedy_reward = std::nan(""), .correct = 1, .reward = std::nan("")};
  const std::map<std::string, double> metrics = ToMap(ScoreMetrics({unscored}, 2));
  EXPECT_FALSE(metrics.contains("eval_greedy_reward"));
  EXPECT_FALSE(metrics.contains("eval_reward"));
  EXPECT_EQ(metrics.at("eval_mean@2"), 0.5) << "whether an answer is correct needs no reward";
  EXPECT_EQ(metrics.size(), ScoreMetricNames(2).size() - 2);
}

TEST(ScoresTest, NamesAreSortedAndFollowTheSamples) {
  EXPECT_THAT(ScoreMetricNames(0), ElementsAre("eval_greedy_accuracy", "eval_greedy_accuracy_high",
                                               "eval_greedy_accuracy_low", "eval_greedy_reward"));
  EXPECT_THAT(ScoreMetricNames(0, /*has_accuracy=*/false), ElementsAre("eval_greedy_reward"));
  EXPECT_THAT(ScoreMetricNames(3, /*has_accuracy=*/false),
              ElementsAre("eval_completions/mean_length", "eval_greedy_reward", "eval_reward"));
  EXPECT_THAT(ScoreMetricNames(3),
              ElementsAre("eval_completions/mean_length", "eval_greedy_accuracy", "eval_greedy_accuracy_high",
                          "eval_greedy_accuracy_low", "eval_greedy_reward", "eval_mean@3", "eval_mean@3_high",
                          "eval_mean@3_low", "eval_pass@1", "eval_pass@1_high", "eval_pass@1_low", "eval_pass@2",
                          "eval_pass@2_high", "eval_pass@2_low", "eval_pass@3", "eval_pass@3_high", "eval_pass@3_low",
                          "eval_reward"));
}

// Returns the number of subsets of size k of n samples, the first c of them correct, that contain a correct one, by the
// definition.
double ByCounting(int n, int c, int k) {
  int subsets = 0, passed = 0;
  for (unsigned set = 0; set < (1u << n); ++set) {
    if (__builtin_popcount(set) != k) continue;
    ++subsets;
    passed += (set & ((1u << c) - 1)) != 0 ? 1 : 0;
  }
  return static_cast<double>(passed) / subsets;
}

TEST(PassAtKTest, HandValues) {
  EXPECT_EQ(PassAtK(4, 0, 2), 0.0);
  EXPECT_EQ(PassAtK(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(PassAtK(4, 1, 2), 0.5);         // 1 - C(3,2) / C(4,2) = 1 - 3/6
  EXPECT_DOUBLE_EQ(PassAtK(4, 2, 2), 5.0 / 6.0);   // 1 - 1/6
  EXPECT_DOUBLE_EQ(PassAtK(10, 3, 5), 11.0 / 12);  // 1 - C(7,5) / C(10,5) = 1 - 21/252
  EXPECT_EQ(PassAtK(4, 3, 2), 1.0);                // two wrong ones cannot be drawn
}

RC_GTEST_PROP(PassAtKTest, IsTheShareOfSubsetsThatContainACorrectSample, ()) {
  const int n = *rc::gen::inRange(1, 11);
  const int c = *rc::gen::inRange(0, n + 1);
  const int k = *rc::gen::inRange(1, n + 1);
  const double difference = PassAtK(n, c, k) - ByCounting(n, c, k);
  RC_ASSERT(difference < 1e-14 && difference > -1e-14);
}

RC_GTEST_PROP(PassAtKTest, RisesWithKAndWithC, ()) {
  const int n = *rc::gen::inRange(2, 200);
  const int c = *rc::gen::inRange(0, n);
  const int k = *rc::gen::inRange(1, n);
  RC_ASSERT(PassAtK(n, c, k) <= PassAtK(n, c, k + 1) + 1e-12);
  RC_ASSERT(PassAtK(n, c, k) <= PassAtK(n, c + 1, k) + 1e-12);
}

TEST(PassAtKTest, ManySamplesDoNotOverflow) {
  EXPECT_NEAR(PassAtK(65536, 1, 32768), 0.5, 1e-12);
  EXPECT_NEAR(PassAtK(65536, 32768, 2), 1 - 0.5 * 32767.0 / 65535.0, 1e-10);
}

TEST(WilsonIntervalTest, HandValues) {
  // Computed independently in 50 decimal digits.
  EXPECT_NEAR(WilsonInterval(10, 5).low, 0.23659309051256405, 1e-15);
  EXPECT_NEAR(WilsonInterval(10, 5).high, 0.763406909487436, 1e-15);
  EXPECT_NEAR(WilsonInterval(64, 42).low, 0.53403640209918187, 1e-15);
  EXPECT_EQ(WilsonInterval(20, 0).low, 0.0);
  EXPECT_NEAR(WilsonInterval(20, 0).high, kZ95 * kZ95 / (20 + kZ95 * kZ95), 1e-15);
  EXPECT_EQ(WilsonInterval(20, 20).high, 1.0);
}

TEST(WilsonIntervalTest, IsTheWholeRangeWithoutSamples) { EXPECT_EQ(WilsonInterval(0, 0), (Interval{0, 1})); }

RC_GTEST_PROP(WilsonIntervalTest, ContainsTheShareAndIsSymmetric, ()) {
  const int n = *rc::gen::inRange(1, 1000);
  const int c = *rc::gen::inRange(0, n + 1);
  const Interval interval = WilsonInterval(n, c), mirrored = WilsonInterval(n, n - c);
  const double share = static_cast<double>(c) / n;
  RC_ASSERT(0 <= interval.low && interval.low <= share && share <= interval.high && interval.high <= 1);
  RC_ASSERT(interval.low < interval.high);
  RC_ASSERT(std::fabs(interval.low - (1 - mirrored.high)) < 1e-12);
}

// The ends are the shares at which the score test only just accepts the count: |p - q| = z sqrt(q (1 - q) / n).
RC_GTEST_PROP(WilsonIntervalTest, InvertsTheScoreTest, ()) {
  const int n = *rc::gen::inRange(2, 1000);
  const int c = *rc::gen::inRange(1, n);
  const Interval interval = WilsonInterval(n, c);
  for (const double q : {interval.low, interval.high}) {
    RC_ASSERT(std::fabs(std::fabs(static_cast<double>(c) / n - q) - kZ95 * std::sqrt(q * (1 - q) / n)) < 1e-12);
  }
}

TEST(MeanIntervalTest, HandValues) {
  // Four zeros and four ones, with z^2/2 of each: mean 1/2, variance 1/4.
  const double count = 8 + kZ95 * kZ95;
  const Interval interval = MeanInterval(std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1});
  EXPECT_NEAR(interval.low, 0.5 - kZ95 * std::sqrt(0.25 / count), 1e-15);
  EXPECT_NEAR(interval.high, 0.5 + kZ95 * std::sqrt(0.25 / count), 1e-15);
  // Computed independently in 50 decimal digits.
  EXPECT_NEAR(MeanInterval(std::vector<double>{0, 0.25, 0.5, 1, 0.125}).low, 0.14721947068050605, 1e-15);
  EXPECT_NEAR(MeanInterval(std::vector<double>{0, 0.25, 0.5, 1, 0.125}).high, 0.71140114551528763, 1e-15);
}

TEST(MeanIntervalTest, IsTheWholeRangeWithoutSamples) {
  EXPECT_NEAR(MeanInterval({}).low, 0, 1e-15);
  EXPECT_NEAR(MeanInterval({}).high, 1, 1e-15);
}

TEST(MeanIntervalTest, HasWidthAboveZeroWhereAllNumbersAreEqual) {
  const Interval none = MeanInterval(std::vector<double>(45, 0.0)), all = MeanInterval(std::vector<double>(45, 1.0));
  EXPECT_EQ(none.low, 0.0);
  EXPECT_NEAR(none.high, 0.09383635650406861, 1e-15);
  EXPECT_EQ(all.high, 1.0);
  EXPECT_NEAR(all.low, 1 - 0.09383635650406861, 1e-15);
  // One more success must not lower the upper end.
  std::vector<double> one(45, 0.0);
  one[7] = 0.125;
  EXPECT_GT(MeanInterval(one).high, none.high);
  const Interval half = MeanInterval(std::vector<double>(45, 0.5));
  EXPECT_LT(half.low, 0.5);
  EXPECT_GT(half.high, 0.5);
}

RC_GTEST_PROP(MeanIntervalTest, ContainsTheMeanAndForSharesWilsonsInterval, ()) {
  const int n = *rc::gen::inRange(1, 200);
  const std::vector<int> eighths =
      *rc::gen::container<std::vector<int>>(static_cast<size_t>(n), rc::gen::inRange(0, 9));
  std::vector<double> values, shares;
  double sum = 0;
  int64_t ones = 0;
  for (const int eighth : eighths) {
    values.push_back(eighth / 8.0);
    sum += values.back();
    shares.push_back(eighth >= 6 ? 1.0 : 0.0);
    ones += eighth >= 6 ? 1 : 0;
  }
  const Interval interval = MeanInterval(values);
  RC_ASSERT(0 <= interval.low && interval.low < interval.high && interval.high <= 1);
  RC_ASSERT(interval.low <= sum / n && sum / n <= interval.high);
  const Interval of_shares = MeanInterval(shares), wilson = WilsonInterval(n, ones);
  RC_ASSERT(of_shares.low <= wilson.low + 1e-12 && wilson.high <= of_shares.high + 1e-12);
}

// Each problem has a chance of its own, spread around `chance`, and `samples` samples. Returns the share of evaluations
// whose interval contains the mean chance.
double Coverage(double chance, double spread, int problems, int samples) {
  uint64_t state = 1;
  const auto uniform = [&state] {  // a linear congruential generator: any will do here
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  int held = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values;
    for (int p = 0; p < problems; ++p) {
      const double own = chance + (uniform() < 0.5 ? -spread : spread);
      int correct = 0;
      for (int i = 0; i < samples; ++i) correct += uniform() < own ? 1 : 0;
      values.push_back(static_cast<double>(correct) / samples);
    }
    const Interval interval = MeanInterval(values);
    held += interval.low <= chance && chance <= interval.high ? 1 : 0;
  }
  return held / 2000.0;
}

TEST(MeanIntervalTest, ContainsTheTrueMeanAsOftenAsItClaims) {
  for (const double chance : {0.01, 0.05, 0.3, 0.5, 0.95, 0.99}) {
    for (const double spread : {0.0, 0.01, 0.3}) {
      if (spread > std::min(chance, 1 - chance)) continue;
      EXPECT_GT(Coverage(chance, spread, 45, 2), 0.94) << chance << " " << spread;
      EXPECT_GT(Coverage(chance, spread, 64, 8), 0.94) << chance << " " << spread;
    }
  }
}

}  // namespace
}  // namespace reprise::rl
