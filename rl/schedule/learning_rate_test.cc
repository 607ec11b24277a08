#include "rl/schedule/learning_rate.h"

#include <cmath>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(LearningRateTest, StaysConstant) {
  const ScheduleOptions options = {.schedule = Schedule::kConstant, .learning_rate = 2e-3, .total_steps = 10};
  for (int64_t k : {0, 5, 9, 100}) EXPECT_EQ(LearningRate(options, k), 2e-3);
}

TEST(LearningRateTest, FallsLinearlyToZeroAfterTheLastUpdate) {
  const ScheduleOptions options = {.schedule = Schedule::kLinear, .learning_rate = 1.0, .total_steps = 4};
  EXPECT_EQ(LearningRate(options, 0), 1.0);
  EXPECT_EQ(LearningRate(options, 1), 0.75);
  EXPECT_EQ(LearningRate(options, 3), 0.25);
  EXPECT_EQ(LearningRate(options, 4), 0.0);
  EXPECT_EQ(LearningRate(options, 9), 0.0);
}

TEST(LearningRateTest, FallsAlongHalfACosine) {
  const ScheduleOptions options = {.schedule = Schedule::kCosine, .learning_rate = 1.0, .total_steps = 4};
  EXPECT_EQ(LearningRate(options, 0), 1.0);
  EXPECT_NEAR(LearningRate(options, 1), 0.5 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_NEAR(LearningRate(options, 2), 0.5, 1e-15);
  EXPECT_EQ(LearningRate(options, 4), 0.0);
  EXPECT_EQ(LearningRate(options, 6), 0.0);
}

TEST(LearningRateTest, WarmsUpFromZeroBeforeItFalls) {
  for (Schedule schedule : {Schedule::kConstant, Schedule::kLinear, Schedule::kCosine}) {
    const ScheduleOptions options = {schedule, 1.0, /*warmup_steps=*/4, /*total_steps=*/8};
    EXPECT_EQ(LearningRate(options, 0), 0.0);
    EXPECT_EQ(LearningRate(options, 3), 0.75);
    EXPECT_EQ(LearningRate(options, 4), 1.0);
  }
  EXPECT_EQ(LearningRate({Schedule::kLinear, 1.0, 4, 8}, 6), 0.5);
  EXPECT_NEAR(LearningRate({Schedule::kCosine, 1.0, 4, 8}, 6), 0.5, 1e-15);
}

TEST(LearningRateTest, AllowsAWarmUpOfTheWholeRun) {
  EXPECT_EQ(LearningRate({Schedule::kLinear, 1.0, 4, 4}, 3), 0.75);
  EXPECT_EQ(LearningRate({Schedule::kLinear, 1.0, 8, 4}, 3), 0.375);
  EXPECT_EQ(LearningRate({Schedule::kLinear, 1.0, 0, 0}, 0), 0.0);
}

TEST(LearningRateTest, HasTheValuesOfThePublishedScheduleFromATenthToATenth) {
  ScheduleOptions options = {Schedule::kCosine, 1.0, /*warmup_steps=*/100, /*total_steps=*/1100};
  options.warmup_start = options.min_lr_rate = 0.1;
  EXPECT_EQ(LearningRate(options, 0), 0.1);
  EXPECT_NEAR(LearningRate(options, 10), 0.19, 1e-15);
  EXPECT_NEAR(LearningRate(options, 50), 0.55, 1e-15);
  EXPECT_EQ(LearningRate(options, 100), 1.0);
  EXPECT_NEAR(LearningRate(options, 100 + 250), 0.868198, 1e-6);
  EXPECT_NEAR(LearningRate(options, 100 + 500), 0.55, 1e-15);
  EXPECT_NEAR(LearningRate(options, 100 + 1000), 0.1, 1e-15);
}

TEST(LearningRateTest, EndsALinearDecayAtTheMinimumRate) {
  ScheduleOptions options = {Schedule::kLinear, 2.0, /*warmup_steps=*/0, /*total_steps=*/4};
  options.min_lr_rate = 0.5;
  EXPECT_EQ(LearningRate(options, 0), 2.0);
  EXPECT_EQ(LearningRate(options, 2), 1.5);
  EXPECT_EQ(LearningRate(options, 4), 1.0);
  EXPECT_EQ(LearningRate(options, 9), 1.0);
}

TEST(WarmupStepsTest, RoundsUp) {
  EXPECT_EQ(WarmupSteps({.total_steps = 100, .warmup_ratio = 0.03}), 3);
  EXPECT_EQ(WarmupSteps({.total_steps = 101, .warmup_ratio = 0.03}), 4);
  EXPECT_EQ(WarmupSteps({.warmup_steps = 7, .total_steps = 100}), 7);
}

TEST(WarmupStepsTest, OfARatioEqualThoseOfTheSameNumberOfSteps) {
  for (const Schedule schedule : {Schedule::kConstant, Schedule::kLinear, Schedule::kCosine}) {
    const ScheduleOptions steps = {.schedule = schedule, .learning_rate = 0.7, .warmup_steps = 3, .total_steps = 11};
    const ScheduleOptions ratio = {.schedule = schedule, .learning_rate = 0.7, .total_steps = 11, .warmup_ratio = 0.25};
    for (int64_t k = 0; k < 12; ++k) EXPECT_EQ(LearningRate(ratio, k), LearningRate(steps, k)) << k;
  }
}

TEST(ScheduleTest, ParsesItsNamesAndSuggestsTheNearest) {
  for (Schedule schedule : {Schedule::kConstant, Schedule::kLinear, Schedule::kCosine}) {
    ASSERT_OK_AND_ASSIGN(const Schedule read, ParseSchedule(ScheduleName(schedule)));
    EXPECT_EQ(read, schedule);
  }
  EXPECT_THAT(ParseSchedule("cosin"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"cosine\"?")));
}

RC_GTEST_PROP(LearningRateTest, NeverLeavesZeroToPeakAndNeverRisesAfterTheWarmUp, ()) {
  const ScheduleOptions options = {static_cast<Schedule>(*rc::gen::inRange(0, 3)), 0.7, *rc::gen::inRange(0, 50),
                                   *rc::gen::inRange(0, 50)};
  double previous = 0.7;
  for (int64_t k = 0; k < 120; ++k) {
    const double rate = LearningRate(options, k);
    RC_ASSERT(rate >= 0.0 && rate <= 0.7);
    if (k < options.warmup_steps) continue;
    RC_ASSERT(rate <= previous);
    previous = rate;
  }
}

TEST(LearningRateTest, AWarmUpToThePeakMovesInItsFirstUpdate) {
  const ScheduleOptions options = {.schedule = Schedule::kCosine,
                                   .learning_rate = 1.0,
                                   .warmup_steps = 500,
                                   .total_steps = 10000,
                                   .warmup_form = WarmupForm::kToPeak};
  EXPECT_EQ(LearningRate(options, 0), 1.0 / 500);
  EXPECT_EQ(LearningRate(options, 249), 0.5);
  EXPECT_EQ(LearningRate(options, 499), 1.0);
  EXPECT_EQ(LearningRate(options, 500), 1.0);
  EXPECT_NEAR(LearningRate(options, 5250), 0.5, 1e-15);  // half of the 9500 updates after the warm-up
  EXPECT_EQ(LearningRate(options, 10000), 0.0);
}

// The published run delays its schedule by 500 of 10000 updates, of which the schedule then makes 9500.
TEST(LearningRateTest, ADelayedScheduleHasThePublishedFactors) {
  ScheduleOptions options = {.schedule = Schedule::kCosine,
                             .learning_rate = 1.0,
                             .warmup_steps = 500,
                             .total_steps = 10000,
                             .warmup_form = WarmupForm::kDelay};
  for (const int64_t k : {0, 1, 499, 500}) EXPECT_EQ(LearningRate(options, k), 1.0) << k;
  EXPECT_NEAR(LearningRate(options, 1000), 0.993844, 5e-7);
  EXPECT_NEAR(LearningRate(options, 5500), 0.5, 1e-15);
  EXPECT_NEAR(LearningRate(options, 10000), 0.006156, 5e-7);
  EXPECT_EQ(LearningRate(options, 10500), 0.0);
  options.schedule = Schedule::kLinear;
  options.min_lr_rate = 0.1;
  EXPECT_NEAR(LearningRate(options, 10000), 0.145, 1e-15);
  options.schedule = Schedule::kConstant;
  EXPECT_EQ(LearningRate(options, 10000), 1.0);
}

}  // namespace
}  // namespace reprise::rl
