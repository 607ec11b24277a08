#include "rl/advantage/reward_table.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(NormalizeThenSumTest, GivesEveryFunctionTheSameInfluenceWhateverItsUnit) {
  // The second function prefers the other sample, in units a thousand times larger; equal weights cancel.
  const std::vector<double> rewards_NF = {1.0, 0.0, 0.0, 1e3, 2.0, 2e3, 0.0, 0.0};
  const std::vector<double> weights_F = {1.0, 1.0};
  const std::vector<double> advantages =
      NormalizeThenSumAdvantages({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 2});
  EXPECT_NEAR(advantages[0], 0.0, 1e-3);
  EXPECT_NEAR(advantages[1], 0.0, 1e-3);
  EXPECT_GT(advantages[2], 1.0);
  EXPECT_LT(advantages[3], -1.0);
}

TEST(NormalizeThenSumTest, GivesExactlyZeroWhereEveryFunctionScoredTheGroupEqually) {
  const std::vector<double> rewards_NF = {0.1, 0.7, 0.1, 0.7, 0.1, 0.7, 0.0, 1.0, 0.3, 0.0, 5.0, 0.0};
  const std::vector<double> weights_F = {1.0, 0.25};
  const std::vector<double> advantages =
      NormalizeThenSumAdvantages({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 3});
  EXPECT_EQ(advantages[0], 0.0);
  EXPECT_EQ(advantages[1], 0.0);
  EXPECT_EQ(advantages[2], 0.0);
}

TEST(NormalizeThenSumTest, GivesZeroToASampleThatNothingCouldScore) {
  const std::vector<double> rewards_NF = {kNan, kNan, 1.0, 2.0, 3.0, kNan, 0.0, 1.0};
  const std::vector<double> weights_F = {1.0, 0.5};
  const std::vector<double> advantages =
      NormalizeThenSumAdvantages({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 4});
  EXPECT_EQ(advantages[0], 0.0);
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(std::isfinite(advantages[i]));
}

}  // namespace
}  // namespace reprise::rl
