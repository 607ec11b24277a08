#include "rl/schedule/kl_coefficient.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

KlState After(int64_t updates, const KlOptions& options, double kl) {
  KlState state = InitialKlState(options);
  for (int64_t i = 0; i < updates; ++i) state = NextKlState(state, options, kl, 8);
  return state;
}

TEST(KlCoefficientTest, StaysFixed) { EXPECT_EQ(After(7, {.initial = 0.05}, 3.0).coefficient, 0.05); }

TEST(KlCoefficientTest, FallsLinearly) {
  const KlOptions options = {.schedule = KlSchedule::kLinear, .initial = 0.5, .final = 0.25, .total_updates = 4};
  EXPECT_EQ(After(0, options, 0).coefficient, 0.5);
  EXPECT_EQ(After(2, options, 0).coefficient, 0.375);
  EXPECT_EQ(After(4, options, 0).coefficient, 0.25);
  EXPECT_EQ(After(9, options, 0).coefficient, 0.25);
}

TEST(KlCoefficientTest, FollowsTheErrorInProportionWithinAFifth) {
  const KlOptions options = {.schedule = KlSchedule::kProportional, .initial = 0.2, .target = 6.0, .horizon = 80};
  EXPECT_DOUBLE_EQ(After(1, options, 6.6).coefficient, 0.2 * (1 + 0.1 * 0.1));
  EXPECT_DOUBLE_EQ(After(1, options, 60).coefficient, 0.2 * (1 + 0.2 * 0.1));
  EXPECT_DOUBLE_EQ(After(1, options, 0).coefficient, 0.2 * (1 - 0.2 * 0.1));
  EXPECT_EQ(After(5, options, 6.0).coefficient, 0.2);
}

// A step without learned tokens has no divergence, but still counts as an update.
TEST(KlCoefficientTest, WithoutADivergenceControllersStayAndTheLinearScheduleContinues) {
  for (const KlSchedule schedule : {KlSchedule::kProportional, KlSchedule::kBanded}) {
    KlOptions options = {.schedule = schedule, .initial = 0.02};
    options.interval = 1, options.patience = 0;
    const KlState state = After(3, options, 1.0);
    EXPECT_EQ(NextKlState(state, options, std::nullopt, 0), state);
    EXPECT_NE(NextKlState(state, options, 0.0, 8).coefficient, state.coefficient);
  }
  const KlOptions line = {.schedule = KlSchedule::kLinear, .initial = 0.5, .final = 0.25, .total_updates = 4};
  EXPECT_EQ(NextKlState(After(1, line, 0), line, std::nullopt, 0).coefficient, 0.375);
}

// The published controller: target 0.01 +- 0.005, every 10 updates after 100.
constexpr KlOptions kPublished = {.schedule = KlSchedule::kBanded, .initial = 0.01};

TEST(KlCoefficientTest, HasTheValuesOfThePublishedBand) {
  EXPECT_DOUBLE_EQ(After(100, kPublished, 0.02).coefficient, 0.015);
  EXPECT_NEAR(After(100, kPublished, 0.001).coefficient, 0.0066667, 1e-7);
  EXPECT_EQ(After(100, kPublished, 0.012).coefficient, 0.01);
}

TEST(KlCoefficientTest, DecidesOnlyAtItsInterval) {
  EXPECT_EQ(After(99, kPublished, 0.02).coefficient, 0.01);
  EXPECT_DOUBLE_EQ(After(109, kPublished, 0.02).coefficient, 0.015);
  EXPECT_DOUBLE_EQ(After(110, kPublished, 0.02).coefficient, 0.0225);
}

TEST(KlCoefficientTest, DecidesByTheMeanOfTheLastInterval) {
  KlState state = After(100, kPublished, 0.012);
  for (double kl : {0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}) state = NextKlState(state, kPublished, kl, 8);
  EXPECT_DOUBLE_EQ(state.coefficient, 0.015);
  EXPECT_TRUE(state.recent_kl.empty());
}

TEST(KlCoefficientTest, NamesTheKeyItsValueAndItsRange) {
  EXPECT_OK(ValidateKlOptions({}));
  EXPECT_OK(ValidateKlOptions(kPublished));
  EXPECT_THAT(ValidateKlOptions({.initial = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("beta is -1; expected")));
  EXPECT_THAT(ValidateKlOptions({.low = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kl_high is 0.1; expected a number >= kl_low")));
}

RC_GTEST_PROP(KlCoefficientTest, NeverLeavesItsBand, ()) {
  KlState state = InitialKlState(kPublished);
  const int updates = *rc::gen::inRange(0, 400);
  for (int i = 0; i < updates; ++i) {
    state = NextKlState(state, kPublished, *rc::gen::inRange(0, 40) * 1e-3, 8);
    RC_ASSERT(state.coefficient >= kPublished.low && state.coefficient <= kPublished.high);
    RC_ASSERT(state.recent_kl.size() < static_cast<size_t>(kPublished.interval));
  }
}

}  // namespace
}  // namespace reprise::rl
