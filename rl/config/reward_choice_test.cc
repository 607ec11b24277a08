#include "rl/config/reward_choice.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RewardChoiceTest, OneRewardHasWeightOne) {
  ASSERT_OK_AND_ASSIGN(const RewardChoice choice, ParseRewardChoice({}));
  EXPECT_THAT(choice.functions, ElementsAre("exact_match"));
  EXPECT_THAT(choice.names_F, ElementsAre("exact_match"));
  EXPECT_THAT(choice.weights_F, ElementsAre(1.0));
}

TEST(RewardChoiceTest, PunishmentsFollowTheRewardsWithWeightOne) {
  AlgorithmConfig algorithm;
  algorithm.reward.functions = "exact_match character_match";
  algorithm.reward.weights = "2 -0.5";
  algorithm.reward.soft_punish_cache = 3;
  algorithm.reward.missing_eos_penalty = 0.5;
  ASSERT_OK_AND_ASSIGN(const RewardChoice choice, ParseRewardChoice(algorithm.reward));
  EXPECT_THAT(choice.functions, ElementsAre("exact_match", "character_match"));
  EXPECT_THAT(choice.names_F, ElementsAre("exact_match", "character_match", "soft_overlong", "missing_eos"));
  EXPECT_THAT(choice.weights_F, ElementsAre(2.0, -0.5, 1.0, 1.0));
}

TEST(RewardChoiceTest, RejectsWeightsThatAreNotOneNumberPerReward) {
  for (const char* weights : {"1 2", "x", "inf", "1  2", " 1"}) {
    AlgorithmConfig algorithm;
    algorithm.reward.weights = weights;
    EXPECT_THAT(ParseRewardChoice(algorithm.reward),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 number, one")))
        << weights;
  }
}

TEST(RewardChoiceTest, RejectsWeightsThatNoRewardCanBeMultipliedWith) {
  for (const char* weight : {"1e308", "-1e10", "1e-320", "-1e-31"}) {
    AlgorithmConfig algorithm;
    algorithm.reward.weights = weight;
    EXPECT_THAT(
        ParseRewardChoice(algorithm.reward),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1e-30 to 1e9, or 0, and of either sign")))
        << weight;
  }
  AlgorithmConfig algorithm;
  algorithm.reward.weights = "-1e9";
  EXPECT_OK(ParseRewardChoice(algorithm.reward));
}

TEST(RewardChoiceTest, RejectsWeightsThatAreAllZeroWithoutAPunishment) {
  AlgorithmConfig algorithm;
  algorithm.reward.functions = "exact_match character_match";
  algorithm.reward.weights = "0 0";
  EXPECT_THAT(CheckSomeRewardCounts(algorithm.reward),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "algorithm.reward_weights is \"0 0\", so that every reward is 0: give at least one of "
                       "algorithm.reward another weight"));
  algorithm.reward.missing_eos_penalty = 1;
  EXPECT_OK(CheckSomeRewardCounts(algorithm.reward));
  algorithm.reward.missing_eos_penalty = 0;
  algorithm.reward.weights = "0 1";
  EXPECT_OK(CheckSomeRewardCounts(algorithm.reward));
  algorithm.reward.weights = "x";
  EXPECT_OK(CheckSomeRewardCounts(algorithm.reward));
}

TEST(RewardChoiceTest, RejectsARewardThatIsNamedTwice) {
  AlgorithmConfig algorithm;
  algorithm.reward.functions = "exact_match exact_match";
  EXPECT_THAT(ParseRewardChoice(algorithm.reward),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("exact_match twice")));
}

}  // namespace
}  // namespace reprise::rl
