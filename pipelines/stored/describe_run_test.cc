#include "pipelines/stored/describe_run.h"

#include <cmath>

#include "gtest/gtest.h"
#include "pipelines/stored/scored_reward.h"

namespace reprise {
namespace {

TEST(RewardCurveTest, ShortRunsHaveALinePerStep) {
  const std::vector<std::string> lines = RewardCurve({0.0, 0.5});
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0], "steps    1-1     mean reward 0.000  ");
  EXPECT_EQ(lines[1], "steps    2-2     mean reward 0.500  ####################");
}

TEST(RewardCurveTest, LongRunsHaveTenLinesThatCoverAllSteps) {
  const std::vector<std::string> lines = RewardCurve(std::vector<double>(25, 1.0));
  ASSERT_EQ(lines.size(), 10);
  EXPECT_EQ(lines.front().substr(0, 14), "steps    1-2  ");
  EXPECT_EQ(lines.back().substr(0, 14), "steps   23-25 ");
}

TEST(RewardCurveTest, RewardsOutsideTheBarAreStillShown) {
  EXPECT_EQ(RewardCurve({-2.0})[0], "steps    1-1     mean reward -2.000  ");
  EXPECT_EQ(RewardCurve({7.0})[0], "steps    1-1     mean reward 7.000  " + std::string(40, '#'));
  EXPECT_TRUE(RewardCurve({}).empty());
}

TEST(RewardCurveTest, StepsInWhichNothingWasScoredAreNotStepsOfReward0) {
  EXPECT_EQ(RewardCurve({NAN})[0], "steps    1-1     nothing scored");
  std::vector<double> rewards(20, -1.0);
  rewards[3] = NAN;
  EXPECT_EQ(RewardCurve(rewards)[1], "steps    3-4     mean reward -1.000  ");
}

TEST(ScoredRewardTest, AStepInWhichNothingWasScoredHasNone) {
  rl::StepResults step;
  step.metrics = {{"frac_unscorable", 0.5}, {"reward", 0.0}};
  EXPECT_EQ(ScoredReward(step), 0.0);
  EXPECT_EQ(ScoredRewardText(step), "reward 0.000");
  step.metrics[0].second = 1;
  EXPECT_TRUE(std::isnan(ScoredReward(step)));
  EXPECT_EQ(ScoredRewardText(step), "nothing scored");
}

}  // namespace
}  // namespace reprise
