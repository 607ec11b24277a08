#include "rl/learner/schedule_state.h"

#include <cmath>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(ScheduleStateTest, IsRestoredFromItsNumbers) {
  const ScheduleState state = {{0.1, 123456789, {-0.25, 1e-300}}, {3.5, 0.75}, {0.0625, false}};
  ScheduleState scaled = state, trends = state;
  scaled.token_rewards = {17, -0.1, 1e-300};
  trends.recent_rewards = {0.5, -1, 0.25};
  trends.failures_in_a_row = 2;
  ScheduleState both = trends;
  both.token_rewards = scaled.token_rewards;
  for (const bool token_rewards : {false, true}) {
    for (const bool keeps_trends : {false, true}) {
      const KeptNumbers kept = {token_rewards, keeps_trends};
      const ScheduleState& full = token_rewards ? (keeps_trends ? both : scaled) : keeps_trends ? trends : state;
      EXPECT_EQ(FromNumbers(ToNumbers(full, kept), kept), full);
      EXPECT_EQ(FromNumbers(ToNumbers({}, kept), kept), ScheduleState());
      EXPECT_EQ(ToNumbers({}, kept).size(), LeastScheduleNumbers(kept));
    }
  }
  EXPECT_EQ(FromNumbers(ToNumbers(both, {}), {}), state) << "what is not kept is that of a new state";
  EXPECT_EQ(RewardAverage(trends), -0.25 / 3);
  EXPECT_EQ(RewardAverage(state), std::nullopt);
}

TEST(ScheduleStateTest, StepsInWhichNothingWasScoredAreLeftOutOfTheAverage) {
  ScheduleState state;
  state.recent_rewards = {std::nullopt, -1, std::nullopt, -2};
  EXPECT_EQ(RewardAverage(state), -1.5);
  state.recent_rewards = {std::nullopt, std::nullopt};
  EXPECT_EQ(RewardAverage(state), std::nullopt) << "which is not an average of 0";
}

TEST(ScheduleStateTest, StepsInWhichNothingWasScoredAreRestoredAsSuch) {
  constexpr KeptNumbers kTrends = {.trends = true};
  ScheduleState state;
  state.kl.recent_kl = {0.5};
  using Rewards = std::vector<std::optional<double>>;
  for (const Rewards& recent : {Rewards{std::nullopt}, Rewards{0.0, std::nullopt, -1}, Rewards{std::nullopt, 1e-300}}) {
    state.recent_rewards = recent;
    const std::vector<double> numbers = ToNumbers(state, kTrends);
    for (const double number : numbers) EXPECT_TRUE(std::isfinite(number)) << "a state is refused if it is not";
    EXPECT_EQ(FromNumbers(numbers, kTrends), state);
  }
}

TEST(ScheduleStateTest, WhereEveryStepHasARewardTheNumbersAreTheirsAlone) {
  ScheduleState state;
  state.recent_rewards = {0.5, -1};
  const std::vector<double> numbers = ToNumbers(state, {.trends = true});
  const std::vector<double> last(numbers.end() - 3, numbers.end());
  EXPECT_EQ(last, (std::vector<double>{2, 0.5, -1}));
}

TEST(ScheduleStateTest, CountsThatDoNotFitAreReadAsSomeState) {
  constexpr KeptNumbers kTrends = {.trends = true};
  std::vector<double> numbers = ToNumbers({}, kTrends);
  for (const double count : {-1.0, 1e18}) {
    numbers[LeastScheduleNumbers({}) + 1] = count;
    EXPECT_TRUE(FromNumbers(numbers, kTrends).recent_rewards.empty());
  }
  numbers = {0, 0, 0, 0, 0, 0, 0, -3, 1, 0.5, 1};  // three steps, of which there is one and a half
  EXPECT_EQ(FromNumbers(numbers, kTrends).recent_rewards, std::vector<std::optional<double>>{0.5});
}

}  // namespace
}  // namespace reprise::rl
