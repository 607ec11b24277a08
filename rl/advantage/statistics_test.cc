#include "rl/advantage/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(StatisticsTest, SkipsUnscorableValues) {
  const std::vector<double> values = {kNan, 1.0, 3.0, kNan, 5.0};
  EXPECT_EQ(CountScorable(values), 3);
  EXPECT_EQ(SumOfScorable(values), 9.0);
  EXPECT_EQ(MeanOfScorable(values), 3.0);
  EXPECT_EQ(DeviationOfScorable(values), 2.0);
}

TEST(StatisticsTest, HasNoDeviationOfOneValueAndNoMeanOfNone) {
  EXPECT_TRUE(std::isnan(DeviationOfScorable({7.0})));
  EXPECT_TRUE(std::isnan(MeanOfScorable({kNan})));
  EXPECT_EQ(SumOfScorable({}), 0.0);
}

TEST(StatisticsTest, DividesByTheCountWithoutACorrection) {
  EXPECT_EQ(DeviationOfScorable({kNan, 1.0, 3.0}, 0), 1.0);
  EXPECT_EQ(DeviationOfScorable({7.0}, 0), 0.0);
  EXPECT_TRUE(std::isnan(DeviationOfScorable({}, 0)));
}

TEST(StatisticsTest, AddsAGroupInTheOrderOfItsSamples) {
  // The tree (1 + 1e16) + (-1e16 + 1) would give 0.
  EXPECT_EQ(SumOfScorable({1e16, 1.0, -1e16, 1.0}), ((1e16 + 1.0) - 1e16) + 1.0);
}

TEST(StatisticsTest, AddsBlocksInATreeBeyondOneBlock) {
  std::vector<double> values(3 * kStatisticsBlock, 1.0);
  values[0] = 1e16;  // block 0: each 1.0 is lost, or rounds
  values[kStatisticsBlock] = -1e16;
  double block0 = 0.0, block1 = 0.0;
  for (int i = 0; i < kStatisticsBlock; ++i) {
    block0 += values[i];
    block1 += values[kStatisticsBlock + i];
  }
  EXPECT_EQ(SumOfScorable(values), (block0 + block1) + kStatisticsBlock);
}

TEST(AllScorableEqualTest, RequiresExactEquality) {
  EXPECT_TRUE(AllScorableEqual({0.1, kNan, 0.1}));
  EXPECT_FALSE(AllScorableEqual({0.1, std::nextafter(0.1, 1.0)}));
  EXPECT_TRUE(AllScorableEqual({}));
  EXPECT_TRUE(AllScorableEqual({kNan}));
  // The deviation of seven equal rewards need not be 0; this test is.
  EXPECT_TRUE(AllScorableEqual(std::vector<double>(7, static_cast<double>(0.1f))));
}

RC_GTEST_PROP(StatisticsTest, DeviationIgnoresAShift, (const std::vector<int>& values)) {
  RC_PRE(values.size() >= 2u);
  std::vector<double> plain, shifted;
  for (int value : values) {
    plain.push_back(value % 1000);
    shifted.push_back(value % 1000 + 4096);
  }
  RC_ASSERT(std::fabs(DeviationOfScorable(plain) - DeviationOfScorable(shifted)) < 1e-9);
}

TEST(WhitenTokensTest, DividesByTheBesselCorrectedDeviation) {
  const std::vector<double> white = WhitenTokens({1, 2, 3});
  const double divisor = std::sqrt(1.0 + 1e-8);
  EXPECT_EQ(white, (std::vector<double>{-1 / divisor, 0, 1 / divisor}));
}

TEST(WhitenTokensTest, ReturnsExactlyZeroForEqualValues) {
  EXPECT_EQ(WhitenTokens(std::vector<double>(7, static_cast<double>(0.1f))), std::vector<double>(7, 0.0));
  EXPECT_EQ(WhitenTokens({5.0}), (std::vector<double>{0}));
  EXPECT_TRUE(WhitenTokens({}).empty());
}

TEST(ScaleTokensTest, KeepsTheMean) {
  const double divisor = std::sqrt(1.0 + 1e-8);
  EXPECT_EQ(ScaleTokens({1, 2, 3}), (std::vector<double>{-1 / divisor + 2, 2, 1 / divisor + 2}));
  EXPECT_EQ(ScaleTokens({5.0, 5.0}), (std::vector<double>{5, 5}));
}

RC_GTEST_PROP(WhitenTokensTest, HasMeanZeroAndDeviationOne, (const std::vector<int>& numbers)) {
  std::vector<double> values;
  for (int number : numbers) values.push_back(number % 1000);
  RC_PRE(!AllScorableEqual(values));
  const std::vector<double> white = WhitenTokens(values);
  RC_ASSERT(std::fabs(MeanOfScorable(white)) < 1e-12);
  RC_ASSERT(std::fabs(DeviationOfScorable(white) - 1.0) < 1e-6);
}

TEST(RunningMeanTest, IsZeroAtFirstThenTheMeanOfTheFirstBatch) {
  EXPECT_EQ(RunningMean().baseline(), 0.0);
  EXPECT_EQ(Next({}, {1, 2, 6}, 0.5).baseline(), 3.0);
}

TEST(RunningMeanTest, ForgetsByTheDecay) {
  const RunningMean second = Next(Next({}, {4}, 0.5), {1}, 0.5);
  EXPECT_EQ(second.baseline(), (0.5 * 1 + 0.25 * 4) / 0.75);
  EXPECT_EQ(Next(Next({}, {4}, 0.0), {1}, 0.0).baseline(), 1.0);
}

TEST(RunningMeanTest, ExcludesUnscorableRewards) {
  EXPECT_EQ(Next({}, {kNan, 2}, 0.5).baseline(), 2.0);
  const RunningMean mean = Next({}, {3}, 0.5);
  EXPECT_EQ(Next(mean, {kNan, kNan}, 0.5), mean);
}

}  // namespace

}  // namespace reprise::rl
