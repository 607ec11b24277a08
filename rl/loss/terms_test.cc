#include "rl/loss/terms.h"

#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr LossOptions kOptions = {.epsilon = 0.2, .epsilon_high = 0.3};

TEST(ClippedSurrogateTest, IsThePolicyGradientWithinTheRange) {
  for (double advantage : {2.0, -2.0}) {
    const Ratio ratio = ComputeRatio(0.1);
    const Term term = ClippedSurrogate(ratio, advantage, kOptions);
    EXPECT_EQ(term.value, -ratio.value * advantage);
    EXPECT_EQ(term.d_log_ratio, -ratio.value * advantage);
    EXPECT_EQ(term.d_logprob, 0.0);
  }
}

TEST(ClippedSurrogateTest, HasKnownValues) {
  const auto loss = [](double ratio, double advantage) {
    return ClippedSurrogate(ComputeRatio(std::log(ratio)), advantage, {.epsilon = 0.2, .epsilon_high = 0.2}).value;
  };
  EXPECT_NEAR(loss(1.5, 1), -1.2, 1e-12);
  EXPECT_NEAR(loss(0.5, 1), -0.5, 1e-12);
  EXPECT_NEAR(loss(1.5, -1), 1.5, 1e-12);
  EXPECT_NEAR(loss(0.5, -1), 0.8, 1e-12);
}

TEST(ClippedSurrogateTest, HasNoGradientBeyondTheClip) {
  const Term above = ClippedSurrogate(ComputeRatio(1.0), 2.0, kOptions);
  EXPECT_DOUBLE_EQ(above.value, -2.6);
  EXPECT_EQ(above.d_log_ratio, 0.0);
  const Term below = ClippedSurrogate(ComputeRatio(-1.0), -2.0, kOptions);
  EXPECT_DOUBLE_EQ(below.value, 1.6);
  EXPECT_EQ(below.d_log_ratio, 0.0);
}

TEST(ClippedSurrogateTest, HasAGradientTowardsTheRangeFromOutside) {
  const Ratio far = ComputeRatio(1.0), near = ComputeRatio(-1.0);
  EXPECT_EQ(ClippedSurrogate(far, -2.0, kOptions).d_log_ratio, 2.0 * far.value);
  EXPECT_EQ(ClippedSurrogate(near, 2.0, kOptions).d_log_ratio, -2.0 * near.value);
}

TEST(ClippedSurrogateTest, DeltaBoundsTheTermFarAboveTheRange) {
  LossOptions options = kOptions;
  options.delta = 1.5;
  const Term term = ClippedSurrogate(ComputeRatio(1.0), -2.0, options);
  EXPECT_DOUBLE_EQ(term.value, 3.0);
  EXPECT_EQ(term.d_log_ratio, 0.0);
  // Below delta nothing changes.
  EXPECT_EQ(ClippedSurrogate(ComputeRatio(0.38), -2.0, options).d_log_ratio,
            ClippedSurrogate(ComputeRatio(0.38), -2.0, kOptions).d_log_ratio);
}

TEST(ClippedSurrogateTest, CountsAsClippedAccordingToTheSignOfTheAdvantage) {
  EXPECT_TRUE(IsHighClipped(ComputeRatio(1.0), 2.0, kOptions));
  EXPECT_FALSE(IsHighClipped(ComputeRatio(1.0), -2.0, kOptions));
  EXPECT_TRUE(IsLowClipped(ComputeRatio(-1.0), -2.0, kOptions));
  EXPECT_FALSE(IsLowClipped(ComputeRatio(-1.0), 2.0, kOptions));
  EXPECT_FALSE(IsLowClipped(ComputeRatio(0.0), 0.0, kOptions) || IsHighClipped(ComputeRatio(0.0), 0.0, kOptions));
}

TEST(ClippedSurrogateTest, DualClipBoundsTheTermOfANegativeAdvantage) {
  LossOptions options = kOptions;
  options.dual_clip = 3.0;
  const Ratio far = ComputeRatio(2.0);  // 7.4
  EXPECT_EQ(ClippedSurrogate(far, -2.0, options).value, 6.0);
  EXPECT_EQ(ClippedSurrogate(far, -2.0, options).d_log_ratio, 0.0);
  EXPECT_TRUE(IsDualClipped(far, -2.0, options));
  // It bounds neither smaller ratios nor samples of positive advantage.
  for (const auto& [log_ratio, advantage] : {std::pair(1.0, -2.0), {-2.0, -2.0}, {2.0, 2.0}, {0.0, 0.0}}) {
    EXPECT_FALSE(IsDualClipped(ComputeRatio(log_ratio), advantage, options));
    EXPECT_EQ(ClippedSurrogate(ComputeRatio(log_ratio), advantage, options).value,
              ClippedSurrogate(ComputeRatio(log_ratio), advantage, kOptions).value);
  }
  EXPECT_FALSE(IsDualClipped(far, -2.0, kOptions));
}

TEST(UnclippedSurrogateTest, IsTheRatioAndReinforceIsTheLogProb) {
  const Ratio far = ComputeRatio(2.0);
  EXPECT_EQ(UnclippedSurrogate(far, 1.5).value, -1.5 * far.value);
  EXPECT_EQ(UnclippedSurrogate(far, 1.5).d_log_ratio, -1.5 * far.value);
  EXPECT_EQ(ReinforceTerm(-0.5, 1.5).value, 0.75);
  EXPECT_EQ(ReinforceTerm(-0.5, 1.5).d_logprob, -1.5);
  EXPECT_EQ(ReinforceTerm(-0.5, 1.5).d_log_ratio, 0.0);
}

TEST(ClippedSurrogateTest, StaysFiniteForARatioOfAnySize) {
  const Term term = ClippedSurrogate(ComputeRatio(200.0), -1.0, kOptions);
  EXPECT_TRUE(std::isfinite(term.value));
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

constexpr LossOptions kCispo = {.epsilon_high = 1.5};

TEST(CispoTest, WeighsTheLogProbByTheRatioWithoutAGradientThroughIt) {
  const Ratio ratio = ComputeRatio(0.2);
  const Term term = CispoTerm(ratio, -3.0, 2.0, kCispo);
  EXPECT_EQ(term.value, -ratio.value * 2.0 * -3.0);
  EXPECT_EQ(term.d_logprob, -ratio.value * 2.0);
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

TEST(CispoTest, CapsTheWeightButKeepsTheGradient) {
  const Term term = CispoTerm(ComputeRatio(5.0), -3.0, 2.0, kCispo);
  EXPECT_EQ(term.d_logprob, -3.0);
  EXPECT_TRUE(IsCispoCapped(ComputeRatio(5.0), 2.0, kCispo));
  EXPECT_FALSE(IsCispoCapped(ComputeRatio(5.0), -2.0, kCispo));
  EXPECT_FALSE(IsCispoCapped(ComputeRatio(0.2), 2.0, kCispo));
}

TEST(SapoTest, HasThePolicyGradientOnPolicy) {
  // The slope of 4/tau sigmoid(tau (r - 1)) at 1 is 1 for every tau.
  EXPECT_DOUBLE_EQ(SapoTerm(ComputeRatio(0.0), 2.0, {}).d_log_ratio, -2.0);
  EXPECT_DOUBLE_EQ(SapoTerm(ComputeRatio(0.0), -2.0, {}).d_log_ratio, 2.0);
  EXPECT_DOUBLE_EQ(SapoTerm(ComputeRatio(0.0), 2.0, {.sapo_temperature_pos = 0.5}).value, -2.0 * 4.0 / 0.5 * 0.5);
}

TEST(SapoTest, UsesTheTemperatureOfTheAdvantagesSign) {
  const LossOptions options = {.sapo_temperature_pos = 0.8, .sapo_temperature_neg = 1.6};
  const Ratio ratio = ComputeRatio(0.5);
  const auto gate = [&](double tau) { return 4.0 / tau / (1.0 + std::exp(-tau * (ratio.value - 1.0))); };
  EXPECT_NEAR(SapoTerm(ratio, 1.0, options).value, -gate(0.8), 1e-14);
  EXPECT_NEAR(SapoTerm(ratio, -1.0, options).value, gate(1.6), 1e-14);
  EXPECT_EQ(SapoTerm(ratio, 0.0, options).value, 0.0);
}

TEST(SapoTest, VanishesFarFromTheOldPolicy) {
  EXPECT_LT(std::fabs(SapoTerm(ComputeRatio(5.0), 1.0, {}).d_log_ratio), 1e-50);
  EXPECT_EQ(SapoTerm(ComputeRatio(200.0), -1.0, {}).d_log_ratio, 0.0);
}

// The greatest temperature that the configuration allows.
TEST(SapoTest, StaysFiniteForARatioOfAnySize) {
  for (const double log_ratio : {-800.0, -20.0, -1.0, 0.0, 1e-3, 20.0, 800.0}) {
    const Term term = SapoTerm(ComputeRatio(log_ratio), -1.0, {.sapo_temperature_neg = 700});
    EXPECT_TRUE(std::isfinite(term.value) && std::isfinite(term.d_log_ratio)) << log_ratio;
  }
}

TEST(VespoTest, WeighsOnPolicySequencesByExactlyOne) {
  EXPECT_EQ(VespoWeight({0.0, 0.0, 0.0}, 1.0, {}), 1.0);
  EXPECT_EQ(VespoWeight({}, -1.0, {}), 1.0);
}

TEST(VespoTest, UsesTheShapeOfTheAdvantagesSign) {
  const double w = std::exp(0.3);
  EXPECT_NEAR(VespoWeight({0.1, 0.2}, 1.0, {}), std::pow(w, 2.0) * std::exp(3.0 * (1.0 - w)), 1e-14);
  EXPECT_NEAR(VespoWeight({0.1, 0.2}, -1.0, {}), std::pow(w, 3.0) * std::exp(2.0 * (1.0 - w)), 1e-14);
}

TEST(VespoTest, StaysFiniteFarFromThePolicy) {
  EXPECT_EQ(VespoWeight({200.0, 300.0}, 1.0, {}), 0.0);
  const double low = VespoWeight({-200.0, -300.0}, 1.0, {});
  EXPECT_NEAR(low, 1e-16 * std::exp(3.0), 1e-19);  // W = 1e-8
}

// The greatest power and rate that the configuration allows, and the least.
TEST(VespoTest, StaysFiniteForEveryShape) {
  for (const double k : {1e-30, 32.0}) {
    for (const double lambda : {1e-30, 1e-4, 1.0, 256.0}) {
      for (int i = -80; i <= 80; ++i) {
        const VespoOptions options = {.k_pos = k, .lambda_pos = lambda};
        EXPECT_TRUE(std::isfinite(VespoWeight({0.5 * i}, 1.0, options))) << k << " " << lambda << " " << i;
      }
    }
  }
}

TEST(VespoTest, HasTheGradientOfReinforce) {
  const Term term = VespoTerm(0.5, -3.0, 2.0);
  EXPECT_EQ(term.value, 3.0);
  EXPECT_EQ(term.d_logprob, -1.0);
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

TEST(DivergenceTest, IsExactlyZeroAtTheReference) {
  const Term term = DivergenceTerm(-1.234, -1.234, ComputeRatio(0.7), true);
  EXPECT_EQ(term.value, 0.0);
  EXPECT_EQ(term.d_logprob, 0.0);
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

TEST(DivergenceTest, IsK3) {
  const Term term = DivergenceTerm(-1.0, -0.5, ComputeRatio(0.7), false);
  EXPECT_NEAR(term.value, std::exp(0.5) - 1.5, 1e-15);
  EXPECT_NEAR(term.d_logprob, 1.0 - std::exp(0.5), 1e-15);
  EXPECT_EQ(term.d_log_ratio, 0.0);
}

// k3 = exp(d) - d - 1 of d = log pi_ref - log pi.
TEST(DivergenceTest, HasKnownValues) {
  EXPECT_NEAR(DivergenceTerm(-1.0, -0.5, ComputeRatio(1.0), false).value, 0.148721, 1e-6);
  EXPECT_NEAR(DivergenceTerm(-1.0, -1.5, ComputeRatio(1.0), false).value, 0.106531, 1e-6);
  EXPECT_EQ(DivergenceTerm(-1.0, -1.0, ComputeRatio(1.0), false).value, 0.0);
}

TEST(DivergenceTest, IsK1OrK2WhereRequested) {
  const Term k1 = DivergenceTerm(-1.0, -0.5, ComputeRatio(0.7), false, KlEstimator::kK1);
  EXPECT_EQ(k1.value, -0.5);
  EXPECT_EQ(k1.d_logprob, 1.0);
  const Term k2 = DivergenceTerm(-1.0, -0.5, ComputeRatio(0.7), false, KlEstimator::kK2);
  EXPECT_EQ(k2.value, 0.125);
  EXPECT_EQ(k2.d_logprob, -0.5);
  for (KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK2}) {
    EXPECT_EQ(DivergenceTerm(-1.3, -1.3, ComputeRatio(0.7), true, estimator).value, 0.0);
    EXPECT_EQ(DivergenceTerm(-30.0, -0.5, ComputeRatio(0.7), false, estimator).d_logprob, 0.0);  // clamped
  }
}

TEST(DivergenceTest, BiasCorrectionMultipliesItByTheRatio) {
  const Ratio ratio = ComputeRatio(0.7);
  const Term plain = DivergenceTerm(-1.0, -0.5, ratio, false), corrected = DivergenceTerm(-1.0, -0.5, ratio, true);
  EXPECT_EQ(corrected.value, plain.value * ratio.value);
  EXPECT_EQ(corrected.d_logprob, plain.d_logprob * ratio.value);
  EXPECT_EQ(corrected.d_log_ratio, plain.value * ratio.value);
}

TEST(DivergenceTest, StaysFiniteFarFromTheReference) {
  for (double far : {-200.0, 200.0}) {
    const Term term = DivergenceTerm(0.0, far, ComputeRatio(0.0), false);
    EXPECT_TRUE(std::isfinite(term.value));
    EXPECT_EQ(term.d_logprob, 0.0);
  }
}

RC_GTEST_PROP(DivergenceTest, EstimatesAgreeNearTheReference, (int logprob, int difference)) {
  // To second order: k2 = d^2 / 2, k3 = d^2 / 2 + O(d^3).
  const double d = difference % 100 * 1e-5, logp = -std::fabs(logprob % 100 * 1e-2);
  const double k2 = DivergenceTerm(logp, logp + d, ComputeRatio(0.0), false, KlEstimator::kK2).value;
  const double k3 = DivergenceTerm(logp, logp + d, ComputeRatio(0.0), false, KlEstimator::kK3).value;
  RC_ASSERT(std::fabs(k2 - k3) <= std::fabs(d * d * d) + 1e-15);
}

RC_GTEST_PROP(DivergenceTest, IsNeverNegative, (int logprob, int ref)) {
  RC_ASSERT(DivergenceTerm(logprob % 1000 * 1e-2, ref % 1000 * 1e-2, ComputeRatio(0.1), true).value >= -1e-15);
}

}  // namespace

}  // namespace reprise::rl
