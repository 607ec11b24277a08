#include "rl/loss/ratio.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(RatioTest, IsExactlyOneForEqualLogProbs) {
  EXPECT_EQ(ComputeRatio(0.0).value, 1.0);
  EXPECT_EQ(ComputeRatio(0.0).slope, 1.0);
}

TEST(RatioTest, IsClampedBeyondTwentyWithoutAGradient) {
  for (double far : {20.5, 200.0, kInf}) {
    EXPECT_NEAR(ComputeRatio(far).value, std::exp(20.0), 1e-6);
    EXPECT_NEAR(ComputeRatio(-far).value, std::exp(-20.0), 1e-20);
    EXPECT_EQ(ComputeRatio(far).slope, 0.0);
    EXPECT_EQ(ComputeRatio(-far).slope, 0.0);
    EXPECT_TRUE(ComputeRatio(far).clamped);
  }
  EXPECT_FALSE(ComputeRatio(20.0).clamped);
  EXPECT_EQ(ComputeRatio(-20.0).slope, ComputeRatio(-20.0).value);
}

TEST(LogRatiosTest, NeverReadMaskedTokens) {
  const std::vector<double> new_T = {-1.0, -kInf, -2.0}, old_T = {-1.5, -kInf, -1.0};
  const std::vector<uint8_t> mask_T = {1, 0, 1};
  const Sequence sequence = {.logprob_T = new_T, .old_logprob_T = old_T, .mask_T = mask_T};
  EXPECT_EQ(LogRatios(sequence), (std::vector<double>{0.5, 0.0, -1.0}));
}

TEST(LogRatiosTest, AreZeroOnPolicy) {
  const std::vector<double> new_T = {-1.0, -2.0};
  EXPECT_EQ(LogRatios({.logprob_T = new_T}), (std::vector<double>{0.0, 0.0}));
}

TEST(SequenceLogRatioTest, IsTheMeanOrTheSumOverUnmaskedTokens) {
  const std::vector<double> log_ratio_T = {0.5, 0.0, -1.0};
  EXPECT_EQ(SequenceLogRatio(ImportanceLevel::kSequence, log_ratio_T, 2), -0.25);
  EXPECT_EQ(SequenceLogRatio(ImportanceLevel::kSequenceSum, log_ratio_T, 2), -0.5);
  EXPECT_EQ(SequenceLogRatio(ImportanceLevel::kSequence, {}, 0), 0.0);
}

TEST(OffPolicyMaskTest, MasksNegativeAdvantagesThatBecameLessProbable) {
  EXPECT_TRUE(IsOffPolicy({-0.4, -0.2}, 2, -1.0, 0.29));
  EXPECT_FALSE(IsOffPolicy({-0.4, -0.2}, 2, -1.0, 0.31));
  EXPECT_FALSE(IsOffPolicy({0.4, 0.2}, 2, -1.0, 0.1));   // more likely now
  EXPECT_FALSE(IsOffPolicy({-0.4, -0.2}, 2, 1.0, 0.1));  // positive advantage
  EXPECT_FALSE(IsOffPolicy({-0.4, -0.2}, 2, -1.0, {}));
  EXPECT_FALSE(IsOffPolicy({}, 0, -1.0, 0.1));
}

}  // namespace

}  // namespace reprise::rl
