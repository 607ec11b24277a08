#include "rl/evaluation/scores/anti_theater.h"

#include <cmath>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Tokens = std::vector<int32_t>;

TEST(EditDistanceTest, HasThePublishedValues) {
  EXPECT_EQ(EditDistance({1, 2, 3}, {1, 2, 3}), 0);
  EXPECT_EQ(EditDistance({1, 2, 3}, {1, 3}), 1);
  EXPECT_EQ(EditDistance({}, {1, 2}), 2);
  EXPECT_EQ(EditDistance({1, 2, 3, 4}, {5, 6, 7, 8}), 4);
}

// The definition, without memory.
int64_t SlowDistance(absl::Span<const int32_t> a, absl::Span<const int32_t> b) {
  if (a.empty() || b.empty()) return static_cast<int64_t>(a.size() + b.size());
  const int64_t replaced = SlowDistance(a.subspan(1), b.subspan(1)) + (a[0] == b[0] ? 0 : 1);
  return std::min({replaced, SlowDistance(a.subspan(1), b) + 1, SlowDistance(a, b.subspan(1)) + 1});
}

RC_GTEST_PROP(EditDistanceTest, IsThatOfTheDefinition, ()) {
  const auto tokens = [] { return *rc::gen::resize(5, rc::gen::container<Tokens>(rc::gen::inRange<int32_t>(0, 3))); };
  const Tokens a = tokens(), b = tokens();
  RC_ASSERT(EditDistance(a, b) == SlowDistance(a, b));
}

TEST(CorrelationTest, IsPearsons) {
  const std::vector<double> x = {1, 2, 3, 4}, falling = {8, 6, 4, 2}, mixed = {1, 3, 2, 4};
  EXPECT_NEAR(Correlation(x, x), 1.0, 1e-15);
  EXPECT_NEAR(Correlation(x, falling), -1.0, 1e-15);
  EXPECT_NEAR(Correlation(x, mixed), 0.8, 1e-15);  // 4 / sqrt(5 * 5)
}

// The original divides by zero, and its comparison with NaN decides.
TEST(CorrelationTest, IsZeroWithoutVarianceAndWithoutTwoPoints) {
  const std::vector<double> constant(7, 0.1), x = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(Correlation(constant, x), 0.0);
  EXPECT_EQ(Correlation(x, constant), 0.0);
  // Equal numbers whose mean is rounded have a variance, and these a covariance.
  EXPECT_EQ(Correlation(std::vector<double>{0.1, 0.1, 0.1}, std::vector<double>{0.1, 0.2, 0.4}), 0.0);
  EXPECT_EQ(Correlation(std::vector<double>{1}, std::vector<double>{2}), 0.0);
  EXPECT_EQ(Correlation({}, {}), 0.0);
  const std::vector<double> tiny = {1e-200, 2e-200, 3e-200, 1e-200, 2e-200, 3e-200, 1e-200};
  EXPECT_EQ(Correlation(tiny, x), 0.0);  // squares underflow
}

AntiTheaterOptions ShortContinuations() {
  AntiTheaterOptions options;
  options.continuation_tokens = 2;
  return options;
}

TEST(TestForTheaterTest, ThoughtsThatChangeAndHelpPass) {
  const std::vector<ThoughtTrial> trials = {{{1, 2}, {1, 3}, 0.5, 1.0, 0.9}, {{4, 4}, {4, 4}, 0.5, 0.25, 0.1}};
  const absl::StatusOr<AntiTheaterResult> result = TestForTheater(trials, ShortContinuations());
  ASSERT_OK(result);
  EXPECT_EQ(result->divergence, 0.25);
  EXPECT_EQ(result->ablation, 0.125);
  EXPECT_NEAR(result->correlation, 1.0, 1e-15);
  EXPECT_FALSE(result->divergence_passed);
  EXPECT_TRUE(result->ablation_passed && result->correlation_passed);
  EXPECT_FALSE(result->all_passed());
  EXPECT_THAT(AntiTheaterMetrics(*result, "eval_"), Contains(Pair("eval_anti_theater_divergence", 0.25)));
  EXPECT_THAT(AntiTheaterMetrics(*result, "rl/"), Contains(Pair("rl/anti_theater_all_passed", 0.0)));
}

TEST(TestForTheaterTest, ThoughtsWithoutEffectFailEveryTest) {
  const std::vector<ThoughtTrial> trials(3, {{1, 2}, {1, 2}, 0.5, 0.5, 0.7});
  const absl::StatusOr<AntiTheaterResult> result = TestForTheater(trials, ShortContinuations());
  ASSERT_OK(result);
  EXPECT_FALSE(result->divergence_passed || result->ablation_passed || result->correlation_passed);
}

TEST(TestForTheaterTest, AThresholdItselfDoesNotPass) {
  const std::vector<ThoughtTrial> trials(2, {{1, 2}, {1, 3}, 0.25, 0.5, 0.7});
  AntiTheaterOptions options = ShortContinuations();
  options.divergence = 0.5;
  options.ablation = 0.25;
  const absl::StatusOr<AntiTheaterResult> result = TestForTheater(trials, options);
  ASSERT_OK(result);
  EXPECT_EQ(result->divergence, 0.5);
  EXPECT_FALSE(result->divergence_passed || result->ablation_passed);
}

TEST(TestForTheaterTest, ShortContinuationsHaveNoDivergenceWhichDoesNotPass) {
  const std::vector<ThoughtTrial> trials = {{{1}, {2, 3}, 0.5, 1.0, 0.9}};
  const absl::StatusOr<AntiTheaterResult> result = TestForTheater(trials, ShortContinuations());
  ASSERT_OK(result);
  EXPECT_EQ(result->divergence, std::nullopt);
  EXPECT_FALSE(result->divergence_passed);
  EXPECT_THAT(AntiTheaterMetrics(*result, ""), Not(Contains(Pair("anti_theater_divergence", ::testing::_))));
}

TEST(TestForTheaterTest, NoTextIsAnError) {
  EXPECT_THAT(TestForTheater({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have no held-out text")));
}

}  // namespace
}  // namespace reprise::rl
