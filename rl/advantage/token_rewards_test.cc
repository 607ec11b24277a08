#include "rl/advantage/token_rewards.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(TokenRewardsTest, AddsTheScoreAtTheLastTokenAndSubtractsTheDivergenceEverywhere) {
  EXPECT_EQ(TokenRewards(3, 2.0, {0.5, -1.0, 0.25}, {}, 0.1), (std::vector<double>{-0.05, 0.1, -0.025 + 2.0}));
  EXPECT_EQ(TokenRewards(3, 2.0, {}, {}, 0.0), (std::vector<double>{0, 0, 2}));
}

TEST(TokenRewardsTest, SkipsTokensThatThePolicyDidNotSample) {
  EXPECT_EQ(TokenRewards(4, 2.0, {0.5, kNan, 0.25, kNan}, {1, 0, 1, 0}, 1.0), (std::vector<double>{-0.5, 0, 1.75, 0}));
  EXPECT_EQ(TokenRewards(2, 2.0, {}, {0, 0}, 0.0), (std::vector<double>{0, 0}));
  EXPECT_TRUE(TokenRewards(0, 2.0, {}, {}, 0.0).empty());
}

TEST(TokenRewardsTest, AddsWhatIsEarnedAtAMaskedTokenToTheTokenBefore) {
  EXPECT_EQ(TokenRewards(5, 2.0, {}, {0, 1, 0, 0, 1}, 0.0, {16, 1, 4, 8, 0}), (std::vector<double>{0, 13, 0, 0, 2}));
  EXPECT_EQ(TokenRewards(3, 2.0, {}, {1, 0, 0}, 0.0, {0, 1, 4}), (std::vector<double>{7, 0, 0}));
  EXPECT_EQ(TokenRewards(2, 2.0, {}, {0, 0}, 0.0, {1, 4}), (std::vector<double>{0, 0}));
}

TEST(TokenRewardsTest, ATurnWithoutLearnedTokensHasItsLastOneForThem) {
  EXPECT_EQ(MaskWithAllTurns({0, 0, 1, 0, 0, 0}, {0, 0, 1, 1, 2, 3}), (std::vector<uint8_t>{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(MaskWithAllTurns({0, 1, 1, 0}, {0, 0, 1, 1}), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_TRUE(MaskWithAllTurns({}, {0, 0, 1, 1}).empty());
}

TEST(TokenDivergencesTest, AreThoseOfTheirEstimator) {
  const std::vector<double> old_T = {-1.0, kNan, -0.5}, ref_T = {-1.5, kNan, -0.25};
  EXPECT_EQ(TokenDivergences(old_T, ref_T, {1, 0, 1}), (std::vector<double>{0.5, 0, -0.25}));
  EXPECT_EQ(TokenDivergences(old_T, ref_T, {1, 0, 1}, KlEstimator::kK2), (std::vector<double>{0.125, 0, 0.03125}));
  EXPECT_NEAR(TokenDivergences(old_T, ref_T, {1, 0, 1}, KlEstimator::kK3)[0], std::exp(-0.5) + 0.5 - 1, 1e-15);
}

TEST(DiscountedReturnsTest, DiscountOnceForEveryTokenOfThePolicy) {
  EXPECT_EQ(DiscountedReturns({1, 2, 4}, {}, 0.5), (std::vector<double>{3, 4, 4}));
  EXPECT_EQ(DiscountedReturns({1, kNan, 2, kNan, 4}, {1, 0, 1, 0, 1}, 0.5), (std::vector<double>{3, 0, 4, 0, 4}));
}

RC_GTEST_PROP(DiscountedReturnsTest, WithoutDiscountIsTheSumOfTheRemainingRewards, (const std::vector<int>& values)) {
  std::vector<double> reward_T;
  for (int value : values) reward_T.push_back(value % 1000);
  const std::vector<double> return_T = DiscountedReturns(reward_T, {}, 1.0);
  double sum = 0.0;
  for (size_t t = reward_T.size(); t-- > 0;) {
    sum += reward_T[t];
    RC_ASSERT(return_T[t] == sum);
  }
}

}  // namespace
}  // namespace reprise::rl
