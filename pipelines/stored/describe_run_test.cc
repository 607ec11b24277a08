#include "pipelines/stored/describe_run.h"

#include <cmath>

#include "gtest/gtest.h"

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
  EXPECT_EQ(RewardCurve({NAN}).size(), 1);
  EXPECT_TRUE(RewardCurve({}).empty());
}

}  // namespace
}  // namespace reprise
