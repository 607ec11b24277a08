#include "benchmarks/gate/mann_whitney.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::gate {
namespace {

// Sets two samples without ties for which x has the U statistic `u`, the number of pairs where x's value is below y's.
void SamplesWithU(int x_size, int y_size, int u, std::vector<double>* x, std::vector<double>* y) {
  x->clear();
  y->clear();
  for (int j = 0; j < y_size; ++j) y->push_back(j);
  for (int i = 0; i < x_size; ++i) {
    const int above = std::min(u, y_size);  // the number of y's values above this one
    u -= above;
    x->push_back(y_size - above - 0.5 + 0.001 * i);
  }
}

double ChanceOfU(int x_size, int y_size, int u) {
  std::vector<double> x, y;
  SamplesWithU(x_size, y_size, u, &x, &y);
  return ProbabilityOfLargerByChance(x, y);
}

TEST(MannWhitneyTest, FiveAndFiveGiveTheCountsOf252Choices) {
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 0), 1.0 / 252);
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 1), 2.0 / 252);
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 2), 4.0 / 252);
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 3), 7.0 / 252);
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 4), 12.0 / 252);
  EXPECT_DOUBLE_EQ(ChanceOfU(5, 5, 25), 1.0);
}

// The usual table of critical values (one-sided, 0.025): the largest U that is significant.
TEST(MannWhitneyTest, CriticalValuesAreThoseOfTheTable) {
  struct Row {
    int x_size, y_size, critical;
  };
  for (const Row& row : {Row{4, 4, 0}, Row{5, 5, 2}, Row{5, 7, 5}, Row{6, 6, 5}, Row{7, 7, 8}, Row{8, 8, 13},
                         Row{8, 10, 17}, Row{10, 10, 23}, Row{15, 15, 64}, Row{20, 20, 127}}) {
    EXPECT_LE(ChanceOfU(row.x_size, row.y_size, row.critical), 0.025) << row.x_size << " " << row.y_size;
    EXPECT_GT(ChanceOfU(row.x_size, row.y_size, row.critical + 1), 0.025) << row.x_size << " " << row.y_size;
  }
}

TEST(MannWhitneyTest, TiesShareTheirRanks) {
  // By hand: of the six choices of two out of {1, 2, 2, 3}, four sum to 4 or more, and two to 5.
  EXPECT_DOUBLE_EQ(ProbabilityOfLargerByChance({1, 3}, {2, 2}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(ProbabilityOfLargerByChance({2, 3}, {1, 2}), 2.0 / 6);
  EXPECT_DOUBLE_EQ(ProbabilityOfLargerByChance({7, 7, 7}, {7, 7, 7}), 1.0);
}

TEST(MannWhitneyTest, NothingIsSignificantWithoutValues) {
  EXPECT_EQ(ProbabilityOfLargerByChance({}, {1, 2}), 1);
  EXPECT_EQ(ProbabilityOfLargerByChance({1, 2}, {}), 1);
}

TEST(MannWhitneyTest, FiftyAndFiftyValuesAreNearlyNormal) {
  std::vector<double> x, y;
  for (int i = 0; i < 50; ++i) {
    x.push_back(2 * i);
    y.push_back(2 * i + 1);
  }
  const double below = ProbabilityOfLargerByChance(x, y), above = ProbabilityOfLargerByChance(y, x);
  EXPECT_GT(below, 0.5);
  EXPECT_LT(above, 0.5);
  EXPECT_NEAR(above, 0.433, 0.005);  // U is 25 of a deviation of 145 above its mean
}

RC_GTEST_PROP(MannWhitneyTest, OnlyTheOrderCounts, (std::vector<int> some, std::vector<int> others)) {
  some.resize(std::min<size_t>(some.size(), 9));
  others.resize(std::min<size_t>(others.size(), 9));
  const std::vector<double> x(some.begin(), some.end()), y(others.begin(), others.end());
  std::vector<double> cubed_x = x, cubed_y = y;
  for (double& value : cubed_x) value = value * value * value;
  for (double& value : cubed_y) value = value * value * value;
  RC_ASSERT(ProbabilityOfLargerByChance(x, y) == ProbabilityOfLargerByChance(cubed_x, cubed_y));
}

RC_GTEST_PROP(MannWhitneyTest, AnOutlierCountsAsOneRank, ()) {
  const auto noise = *rc::gen::container<std::vector<int>>(12, rc::gen::inRange(0, 1000));
  std::vector<double> x(noise.begin(), noise.begin() + 6), y(noise.begin() + 6, noise.end());
  *std::max_element(x.begin(), x.end()) = 1001;
  const double near = ProbabilityOfLargerByChance(x, y);
  *std::max_element(x.begin(), x.end()) = 1e300;
  RC_ASSERT(ProbabilityOfLargerByChance(x, y) == near);
}

}  // namespace
}  // namespace reprise::gate
