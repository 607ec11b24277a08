#include "rl/schedule/entropy_coefficient.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(EntropyCoefficientTest, DecaysDownToItsFloor) {
  const EntropyOptions options = {.entropy_coef = 0.5, .decay = 0.5, .floor = 0.1};
  EXPECT_EQ(EntropyCoefficient(options, {}, 0), 0.5);
  EXPECT_EQ(EntropyCoefficient(options, {}, 2), 0.125);
  EXPECT_EQ(EntropyCoefficient(options, {}, 3), 0.1);
  EXPECT_EQ(EntropyCoefficient(options, {}, 100), 0.1);
}

TEST(EntropyCoefficientTest, ReachesTheFloorAtThePublishedStep) {
  // 0.01 * 0.9995^k falls below 0.001 at k = 4605 (log 0.1 / log 0.9995 = 4604.02).
  const EntropyOptions options = {.entropy_coef = 0.01, .decay = 0.9995, .floor = 0.001};
  EXPECT_GT(EntropyCoefficient(options, {}, 4604), 0.001);
  EXPECT_EQ(EntropyCoefficient(options, {}, 4605), 0.001);
}

TEST(EntropyCoefficientTest, GoesLinearlyToItsEndInPlaceOfTheDecay) {
  const EntropyOptions options = {.entropy_coef = 0.5, .decay = 0.1, .floor = 0.125, .steps = 4, .end = 0.0};
  const double expected[] = {0.5, 0.375, 0.25, 0.125, 0.125, 0.125};
  for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(EntropyCoefficient(options, {}, k), expected[k]) << k;
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.5, .steps = 4, .end = 0.75}, {}, 2), 0.625);
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.5, .steps = 4, .end = 0.1}, {}, 4), 0.1);
}

TEST(EntropyCoefficientTest, IsConstantByDefaultAndNeverRises) {
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.25}, {}, 1000), 0.25);
  EXPECT_EQ(EntropyCoefficient({.entropy_coef = 0.0, .decay = 0.9, .floor = 0.1}, {}, 3), 0.0);
}

RC_GTEST_PROP(EntropyCoefficientTest, NeverIncreasesOverUpdates, ()) {
  const EntropyOptions options = {.entropy_coef = *rc::gen::inRange(0, 100) * 1e-2,
                                  .decay = *rc::gen::inRange(0, 101) * 1e-2,
                                  .floor = *rc::gen::inRange(0, 100) * 1e-2};
  for (int64_t k = 0; k < 50; ++k) {
    RC_ASSERT(EntropyCoefficient(options, {}, k + 1) <= EntropyCoefficient(options, {}, k));
  }
}

// Binary fractions, so that sums are exact.
TEST(AdaptiveEntropyTest, FollowsTheTargetWithinItsBoundsAndOmitsTheBonusWhileEntropyIsHigh) {
  const EntropyOptions options = {
      .entropy_coef = 0.125, .adaptive = true, .target = 0.5, .delta = 0.0625, .min = 0.0625, .max = 0.25};
  struct Case {
    double entropy, coefficient, weight;
  };
  EntropyState state = InitialEntropyState(options);
  EXPECT_EQ(EntropyCoefficient(options, state, 0), 0.125);  // before the first step
  for (const Case& c : {Case{0.5, 0.1875, 0.1875},
                        {0.4, 0.25, 0.25},
                        {0.3, 0.25, 0.25},
                        {0.6, 0.1875, 0.0},
                        {0.7, 0.125, 0.0},
                        {0.8, 0.0625, 0.0},
                        {0.9, 0.0625, 0.0},
                        {0.5, 0.125, 0.125}}) {
    state = NextEntropyState(state, options, c.entropy);
    EXPECT_EQ(state.coefficient, c.coefficient) << c.entropy;
    EXPECT_EQ(EntropyCoefficient(options, state, 7), c.weight) << c.entropy;
  }
}

TEST(AdaptiveEntropyTest, StaysWithoutAnEntropyAndWithoutAController) {
  const EntropyOptions options = {.entropy_coef = 0.125, .adaptive = true};
  const EntropyState state = {0.5, false};
  EXPECT_EQ(NextEntropyState(state, options, std::nullopt), state);
  EXPECT_EQ(NextEntropyState(state, {.entropy_coef = 0.125}, 0.1), state);
}

TEST(AdaptiveEntropyTest, RisesFromZero) {
  const EntropyOptions options = {.adaptive = true, .target = 1.0, .delta = 0.25};
  const EntropyState state = NextEntropyState(InitialEntropyState(options), options, 0.0);
  EXPECT_EQ(EntropyCoefficient(options, state, 1), 0.25);
}

}  // namespace
}  // namespace reprise::rl
