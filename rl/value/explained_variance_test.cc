#include "rl/value/explained_variance.h"

#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(ExplainedVarianceTest, IsOneForTheReturnsThemselvesAndForAnyShiftOfThem) {
  EXPECT_EQ(ExplainedVariance({1, 2, 4}, {1, 2, 4}), 1.0);
  EXPECT_EQ(ExplainedVariance({4, 5, 7}, {1, 2, 4}), 1.0);
}

TEST(ExplainedVarianceTest, IsZeroForAConstantAndNegativeForWorse) {
  EXPECT_EQ(ExplainedVariance({3, 3, 3}, {1, 2, 4}), 0.0);
  EXPECT_NEAR(ExplainedVariance({-1, -2, -4}, {1, 2, 4}), 1.0 - 4.0, 1e-15);
  EXPECT_NEAR(ExplainedVariance({0.5, 1, 2}, {1, 2, 4}), 0.75, 1e-15);
}

TEST(ExplainedVarianceTest, IsZeroWhereThereIsNothingToExplain) {
  EXPECT_EQ(ExplainedVariance({1, 2}, {0.1, 0.1}), 0.0);
  EXPECT_EQ(ExplainedVariance({}, {}), 0.0);
  EXPECT_EQ(ExplainedVariance({1}, {5}), 0.0);
}

}  // namespace
}  // namespace reprise::rl
