#include "rl/value/value_loss.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr LossNormalizer kNormalizer = {.num_sequences = 2, .num_tokens = 8, .mean_num_tokens = 9};

ValueLoss Of(double value, double old_value, double target, const ValueLossOptions& options) {
  return SequenceValueLoss({{&value, 1}, {&old_value, 1}, {&target, 1}, {}}, options, kNormalizer);
}

TEST(ValueLossTest, IsHalfTheMeanSquareWithoutClipping) {
  const ValueLoss loss = Of(1.5, kNan, 1.0, {.cliprange_value = {}, .vf_coef = 0.5});
  EXPECT_EQ(loss.loss, 0.5 * 0.5 * 0.25 / 8);
  EXPECT_EQ(loss.dloss_dvalue_T[0], 0.5 * 0.5 / 8);
}

TEST(ValueLossTest, HasNoGradientForAValueClippedOnItsWayToTheReturn) {
  // From 0 to 0.5 towards 1: the error of the clipped value 0.2 is greater, and has no gradient.
  const ValueLoss stopped = Of(0.5, 0.0, 1.0, {.cliprange_value = 0.2, .vf_coef = 1.0});
  EXPECT_NEAR(stopped.loss, 0.5 * 0.64 / 8, 1e-16);
  EXPECT_EQ(stopped.dloss_dvalue_T[0], 0.0);
  EXPECT_EQ(stopped.clipped, 1);
  // Away from the return the unclipped error is greater, and has a gradient.
  const ValueLoss called_back = Of(-0.5, 0.0, 1.0, {.cliprange_value = 0.2, .vf_coef = 1.0});
  EXPECT_EQ(called_back.loss, 0.5 * 2.25 / 8);
  EXPECT_EQ(called_back.dloss_dvalue_T[0], -1.5 / 8);
  EXPECT_EQ(called_back.clipped, 0);
}

TEST(ValueLossTest, NeverReadsMaskedTokens) {
  const std::vector<double> value_T = {kNan, 0.5}, old_T = {kNan, 0.4}, return_T = {kNan, 1.0};
  const std::vector<uint8_t> mask_T = {0, 1};
  const ValueLoss loss = SequenceValueLoss({value_T, old_T, return_T, mask_T}, {}, kNormalizer);
  EXPECT_EQ(loss.loss, Of(0.5, 0.4, 1.0, {}).loss);
  EXPECT_EQ(loss.dloss_dvalue_T[0], 0.0);
  EXPECT_EQ(loss.num_tokens, 1);
}

TEST(ValueLossTest, RejectsInvalidOptions) {
  EXPECT_OK(ValidateValueLossOptions({}));
  EXPECT_OK(ValidateValueLossOptions({.cliprange_value = {}, .vf_coef = 0}));
  EXPECT_THAT(ValidateValueLossOptions({.cliprange_value = 0.0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cliprange_value is 0")));
  EXPECT_THAT(ValidateValueLossOptions({.vf_coef = kNan}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("vf_coef")));
}

RC_GTEST_PROP(ValueLossTest, HasTheGradientOfFiniteDifferences, ()) {
  const auto thousandth = [] { return *rc::gen::inRange(-2000, 2000) * 1e-3; };
  const double value = thousandth(), old_value = thousandth(), target = thousandth();
  // Off the kinks: the ends of the range, and where both branches are equally far from the return.
  const double clipped = std::clamp(value, old_value - 0.2, old_value + 0.2);
  RC_PRE(std::fabs(std::fabs(value - old_value) - 0.2) > 1e-4);
  RC_PRE(clipped == value || std::fabs(std::fabs(value - target) - std::fabs(clipped - target)) > 1e-4);
  const ValueLossOptions options = {.cliprange_value = 0.2, .vf_coef = 0.5};
  const double step = 1e-5;
  const double difference =
      (Of(value + step, old_value, target, options).loss - Of(value - step, old_value, target, options).loss) /
      (2 * step);
  RC_ASSERT(std::fabs(Of(value, old_value, target, options).dloss_dvalue_T[0] - difference) < 1e-10);
}

RC_GTEST_PROP(ValueLossTest, IsNeverLessThanWithoutClipping, ()) {
  const auto thousandth = [] { return *rc::gen::inRange(-2000, 2000) * 1e-3; };
  const double value = thousandth(), old_value = thousandth(), target = thousandth();
  RC_ASSERT(Of(value, old_value, target, {.cliprange_value = 0.2}).loss >=
            Of(value, old_value, target, {.cliprange_value = {}}).loss);
}

TEST(ExplainedVarianceTest, IsOneForTheReturnsThemselvesAndForAnyShiftOfThem) {
  EXPECT_EQ(ExplainedVariance({1, 2, 4}, {1, 2, 4}), 1.0);
  EXPECT_EQ(ExplainedVariance({4, 5, 7}, {1, 2, 4}), 1.0);
}

TEST(ExplainedVarianceTest, IsZeroForAConstantAndNegativeForWorse) {
  EXPECT_EQ(ExplainedVariance({3, 3, 3}, {1, 2, 4}), 0.0);
  EXPECT_NEAR(ExplainedVariance({-1, -2, -4}, {1, 2, 4}), 1.0 - 4.0, 1e-15);
  EXPECT_NEAR(ExplainedVariance({0.5, 1, 2}, {1, 2, 4}), 0.75, 1e-15);
}

TEST(ExplainedVarianceTest, IsZeroWhereThereIsNothingToExplain) {
  EXPECT_EQ(ExplainedVariance({1, 2}, {0.1, 0.1}), 0.0);
  EXPECT_EQ(ExplainedVariance({}, {}), 0.0);
  EXPECT_EQ(ExplainedVariance({1}, {5}), 0.0);
}

}  // namespace

}  // namespace reprise::rl
