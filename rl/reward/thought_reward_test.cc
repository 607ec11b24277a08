#include "rl/reward/thought_reward.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;

constexpr Foresight kBase = {.logprob = -2.0, .hits = 1};
const std::vector<Foresight> kThoughts = {{-1.0, 2}, {-3.5, 1}, {-1.5, 0}};  // mean -2

TEST(ThoughtRewardTest, NonMyopicRewardsAreRelativeToTheOtherThoughts) {
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kNonMyopic, false, kBase, kThoughts), ElementsAre(1.0, -1.5, 0.5));
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kNonMyopic, true, kBase, kThoughts), ElementsAre(1.0, 0.0, 0.5));
}

// The original rewards the loss of the labels, which is the same whatever was thought.
TEST(ThoughtRewardTest, DifferentThoughtsHaveDifferentRewards) {
  const std::vector<double> rewards = ThoughtRewards(ThoughtReward::kNonMyopic, false, kBase, kThoughts);
  EXPECT_GT(rewards[0], rewards[2]);
  EXPECT_GT(rewards[2], rewards[1]);
}

TEST(ThoughtRewardTest, GradedRewardsAreRelativeToNoThought) {
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kGraded, false, kBase, kThoughts), ElementsAre(1.0, -1.5, 0.5));
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kGraded, true, {-1.25, 0}, kThoughts), ElementsAre(0.25, 0.0, 0.0));
}

TEST(ThoughtRewardTest, BinaryRewardsAskForMoreHitsThanWithoutAThought) {
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kBinary, false, kBase, kThoughts), ElementsAre(1.0, 0.0, 0.0));
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kBinary, false, {0, 0}, kThoughts), ElementsAre(1.0, 1.0, 0.0));
}

TEST(ThoughtRewardTest, EqualThoughtsHaveNoReward) {
  const std::vector<Foresight> equal(7, Foresight{-0.1, 1});  // 0.1 is inexact: sums of it round
  for (const double reward : ThoughtRewards(ThoughtReward::kNonMyopic, false, kBase, equal)) EXPECT_EQ(reward, 0.0);
  EXPECT_THAT(ThoughtRewards(ThoughtReward::kNonMyopic, true, kBase, {}), ElementsAre());
}

RC_GTEST_PROP(ThoughtRewardTest, NonMyopicRewardsSumToZeroAndKeepTheOrder, ()) {
  std::vector<Foresight> thoughts;
  for (const int each : *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 0)))) {
    thoughts.push_back({each * 1e-2, 0});
  }
  const std::vector<double> rewards = ThoughtRewards(ThoughtReward::kNonMyopic, false, kBase, thoughts);
  double sum = 0;
  for (size_t k = 0; k < rewards.size(); ++k) {
    sum += rewards[k];
    if (k > 0) RC_ASSERT((rewards[k] < rewards[k - 1]) == (thoughts[k].logprob < thoughts[k - 1].logprob));
  }
  RC_ASSERT(std::fabs(sum) < 1e-10);
}

}  // namespace
}  // namespace reprise::rl
