#include "rl/learner/schedule_state.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(ScheduleStateTest, IsRestoredFromItsNumbers) {
  const ScheduleState state = {{0.1, 123456789, {-0.25, 1e-300}}, {3.5, 0.75}, {0.0625, false}, {}};
  EXPECT_EQ(FromNumbers(ToNumbers(state, false), false), state);
  EXPECT_EQ(FromNumbers(ToNumbers({}, false), false), ScheduleState());
}

TEST(ScheduleStateTest, IncludesRewardsWhereTheyAreKept) {
  const ScheduleState state = {{0.1, 12, {-0.25, 1e-300}}, {3.5, 0.75}, {0.0625, false}, {17, -0.1, 1e-300}};
  EXPECT_EQ(FromNumbers(ToNumbers(state, true), true), state);
  EXPECT_EQ(ToNumbers({}, true).size(), LeastScheduleNumbers(true));
  EXPECT_EQ(ToNumbers({}, false).size(), LeastScheduleNumbers(false));
  EXPECT_EQ(FromNumbers(ToNumbers(state, false), false).token_rewards, kernels::Moments());
}

}  // namespace
}  // namespace reprise::rl
