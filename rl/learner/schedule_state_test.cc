#include "rl/learner/schedule_state.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(ScheduleStateTest, IsRestoredFromItsNumbers) {
  const ScheduleState state = {{0.1, 123456789, {-0.25, 1e-300}}, {3.5, 0.75}, {0.0625, false}};
  for (const bool keeps_trends : {false, true}) {
    EXPECT_EQ(FromNumbers(ToNumbers(state, keeps_trends), keeps_trends), state);
    EXPECT_EQ(FromNumbers(ToNumbers({}, keeps_trends), keeps_trends), ScheduleState());
  }
  ScheduleState trends = state;
  trends.recent_rewards = {0.5, -1, 0.25};
  trends.theater_failures = 2;
  EXPECT_EQ(FromNumbers(ToNumbers(trends, true), true), trends);
  EXPECT_EQ(RewardAverage(trends), -0.25 / 3);
  EXPECT_EQ(RewardAverage(state), 0);
}

TEST(ScheduleStateTest, CountsThatDoNotFitAreReadAsSomeState) {
  std::vector<double> numbers = ToNumbers({}, true);
  for (const double count : {-1.0, 1e18}) {
    numbers[kLeastScheduleNumbers + 1] = count;
    EXPECT_TRUE(FromNumbers(numbers, true).recent_rewards.empty());
  }
  numbers.resize(kLeastScheduleNumbers + 1);
  EXPECT_EQ(FromNumbers(numbers, true).kl.recent_kl.size(), 1u);
}

}  // namespace
}  // namespace reprise::rl
