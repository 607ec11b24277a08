// Compares every branch of the policy loss with central differences.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "rl/loss/policy_loss.h"
#include "rl/loss/ratio.h"

namespace reprise::rl {
namespace {

constexpr LossNormalizer kNormalizer = {.num_sequences = 3, .num_tokens = 17, .mean_num_tokens = 19};
constexpr int64_t kTokens = 7;
constexpr double kStep = 1e-5;

struct Inputs {
  std::vector<double> new_T, old_T, ref_T, entropy_T;
  std::vector<uint8_t> mask_T;
  double advantage = 0.0;
  std::vector<double> advantage_T, importance_T, exact_kl_T;
  std::vector<int32_t> turn_T;

  Sequence View() const {
    return {new_T, old_T, ref_T, entropy_T, mask_T, advantage, advantage_T, importance_T, exact_kl_T, turn_T, 0.75};
  }
};

Inputs RandomInputs(uint64_t seed) {
  const auto uniform = [seed](uint64_t t, uint64_t what) {
    return DrawUniform(seed, Purpose::kTest, {.turn = what, .token = t});
  };
  Inputs in;
  for (uint64_t t = 0; t < kTokens; ++t) {
    in.new_T.push_back(-3.0 * uniform(t, 0) - 0.05);
    in.old_T.push_back(in.new_T.back() + 1.6 * uniform(t, 1) - 0.8);
    in.ref_T.push_back(in.new_T.back() + 1.2 * uniform(t, 2) - 0.6);
    in.entropy_T.push_back(4.0 * uniform(t, 3));
    in.mask_T.push_back(uniform(t, 4) < 0.8 ? 1 : 0);
    in.exact_kl_T.push_back(uniform(t, 6));
    in.turn_T.push_back(static_cast<int32_t>(t / 3));
  }
  in.mask_T[0] = 1;
  in.advantage = 3.0 * uniform(0, 5) - 1.5;
  if (seed % 3 != 1) return in;
  for (uint64_t t = 0; t < kTokens; ++t) {
    in.advantage_T.push_back(3.0 * uniform(t, 7) - 1.5);
    in.importance_T.push_back(2.0 * uniform(t, 8));
  }
  return in;
}

// Returns whether a ratio is so near to a kink that a finite difference would step over it.
bool NearKink(const Inputs& in, const LossOptions& o) {
  const std::vector<double> log_ratio_T = LogRatios(in.View());
  std::vector<double> logs = log_ratio_T;
  if (o.importance_sampling_level != ImportanceLevel::kToken) {
    logs = {SequenceLogRatio(o.importance_sampling_level, log_ratio_T, in.View().num_tokens())};
  }
  for (double log_ratio : logs) {
    const double r = ComputeRatio(log_ratio).value;
    for (double kink : {1 - o.epsilon, 1 + o.epsilon_high, o.delta.value_or(-1), o.dual_clip.value_or(-1)}) {
      if (std::fabs(r - kink) < 1e-3) return true;
    }
  }
  return false;
}

// CISPO and VESPO keep their weights constant: changing the old log-prob equally keeps the ratio.
bool HoldsWeightFixed(const LossOptions& o) {
  return EffectiveClip(o) == Clip::kCispo || EffectiveClip(o) == Clip::kVespo;
}

double Difference(const Inputs& in, const LossOptions& o, double threshold, size_t t) {
  double loss[2];
  for (int side : {0, 1}) {
    const double step = side == 0 ? -kStep : kStep;
    Inputs moved = in;
    if (moved.old_T.empty()) moved.old_T = in.new_T;  // on-policy: the ratio with the current policy
    moved.new_T[t] += step;
    if (HoldsWeightFixed(o)) moved.old_T[t] += step;
    loss[side] = PolicyLoss(moved.View(), o, kNormalizer, threshold).loss;
  }
  return (loss[1] - loss[0]) / (2 * kStep);
}

// Compares one case; returns whether it had a gradient that is not zero.
bool CheckCase(const Inputs& in, const LossOptions& o, double threshold, const std::string& what) {
  const SequenceLoss loss = PolicyLoss(in.View(), o, kNormalizer, threshold);
  double scale = 0.0;
  for (double d : loss.dloss_dlogprob_T) scale = std::max(scale, std::fabs(d));
  for (size_t t = 0; t < in.new_T.size(); ++t) {
    const double expected = in.mask_T[t] != 0 ? Difference(in, o, threshold, t) : 0.0;
    EXPECT_NEAR(loss.dloss_dlogprob_T[t], expected, 1e-6 * std::max(std::fabs(expected), 1e-2 * scale) + 1e-11)
        << what << " token " << t;
  }
  return scale > 0.0;
}

// Options of one loss type in every valid combination.
std::vector<LossOptions> Variants(LossType type) {
  std::vector<LossOptions> variants;
  LossOptions base = {.loss_type = type, .epsilon = 0.2, .epsilon_high = 0.28, .max_completion_length = 16};
  if (type == LossType::kRloo) {
    base.importance_sampling_level = ImportanceLevel::kSequenceSum;
    return {base};
  }
  for (ImportanceLevel level : {ImportanceLevel::kToken, ImportanceLevel::kSequence}) {
    for (double beta : {0.0, 0.3}) {
      for (bool bias : {false, true}) {
        // A bias correction has a gradient through the ratio, which the constant weight must not have.
        if (bias && (beta == 0.0 || HoldsWeightFixed(base))) continue;
        for (int extra = 0; extra < 4; ++extra) {
          LossOptions o = base;
          o.importance_sampling_level = level;
          o.beta = beta;
          o.use_bias_correction_kl = bias;
          if (extra == 1) o.delta = 1.4;
          if (extra == 2) o.top_entropy_quantile = 0.5;
          if (extra == 3) o.off_policy_mask_threshold = 0.05;
          variants.push_back(o);
        }
      }
    }
  }
  return variants;
}

void CheckVariants(const std::vector<LossOptions>& variants) {
  int checked = 0, with_gradient = 0;
  for (const LossOptions& o : variants) {
    ASSERT_TRUE(ValidateLossOptions(o).ok());
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Inputs in = RandomInputs(seed);
      if (seed % 5 == 4) in.old_T.clear();
      if (NearKink(in, o)) continue;
      ++checked;
      const double threshold = o.top_entropy_quantile < 1 ? 2.0 : -1.0;
      with_gradient += CheckCase(in, o, threshold, "seed " + std::to_string(seed)) ? 1 : 0;
    }
  }
  EXPECT_GE(checked, 30 * static_cast<int>(variants.size()));
  EXPECT_GE(with_gradient, checked / 4);
}

void CheckType(LossType type) { CheckVariants(Variants(type)); }

TEST(LossGradientTest, GrpoEqualsDifferences) { CheckType(LossType::kGrpo); }
TEST(LossGradientTest, BnpoEqualsDifferences) { CheckType(LossType::kBnpo); }
TEST(LossGradientTest, DrGrpoEqualsDifferences) { CheckType(LossType::kDrGrpo); }
TEST(LossGradientTest, DapoEqualsDifferences) { CheckType(LossType::kDapo); }
TEST(LossGradientTest, CispoEqualsDifferences) { CheckType(LossType::kCispo); }
TEST(LossGradientTest, SapoEqualsDifferences) { CheckType(LossType::kSapo); }
TEST(LossGradientTest, LuspoEqualsDifferences) { CheckType(LossType::kLuspo); }
TEST(LossGradientTest, VespoEqualsDifferences) { CheckType(LossType::kVespo); }
TEST(LossGradientTest, RlooEqualsDifferences) { CheckType(LossType::kRloo); }

TEST(LossGradientTest, EveryClipWithEveryAggregationEqualsDifferences) {
  std::vector<LossOptions> variants;
  for (int clip = 0; clip <= static_cast<int>(Clip::kReinforce); ++clip) {
    for (int aggregation = 0; aggregation <= static_cast<int>(Aggregation::kTurnMean); ++aggregation) {
      variants.push_back({.clip = static_cast<Clip>(clip),
                          .aggregation = static_cast<Aggregation>(aggregation),
                          .epsilon_high = 0.28,
                          .max_completion_length = 16});
    }
  }
  CheckVariants(variants);
}

TEST(LossGradientTest, DualClipEqualsDifferences) {
  CheckVariants({{.epsilon = 0.1, .epsilon_high = 0.15, .dual_clip = 1.3}});
}

TEST(LossGradientTest, EveryEstimateOfTheDivergenceEqualsDifferences) {
  for (KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK2, KlEstimator::kK3, KlEstimator::kExact}) {
    for (bool bias : {false, true}) {
      CheckVariants({{.beta = 0.4, .kl_estimator = estimator, .use_bias_correction_kl = bias}});
    }
  }
}

TEST(LossGradientTest, ExactDivergenceEqualsDifferences) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Inputs in = RandomInputs(seed);
    const LossOptions o = {.aggregation = Aggregation::kTurnMean, .beta = 0.4, .kl_estimator = KlEstimator::kExact};
    const SequenceLoss loss = PolicyLoss(in.View(), o, kNormalizer);
    for (size_t t = 0; t < in.exact_kl_T.size(); ++t) {
      Inputs up = in;
      up.exact_kl_T[t] += 1.0;
      EXPECT_NEAR(loss.dloss_dexact_kl_T[t], PolicyLoss(up.View(), o, kNormalizer).loss - loss.loss, 1e-14);
    }
  }
}

TEST(LossGradientTest, EntropyBonusEqualsDifferences) {
  Inputs in = RandomInputs(3);
  LossOptions o = {.entropy_coef = 0.05};
  const SequenceLoss loss = PolicyLoss(in.View(), o, kNormalizer);
  for (size_t t = 0; t < in.entropy_T.size(); ++t) {
    Inputs up = in;
    up.entropy_T[t] += 1.0;
    EXPECT_NEAR(loss.dloss_dentropy_T[t], PolicyLoss(up.View(), o, kNormalizer).loss - loss.loss, 1e-14);
  }
}

TEST(LossGradientTest, IsZeroWhereTheLogRatioWasClamped) {
  Inputs in = RandomInputs(5);
  in.old_T[0] = in.new_T[0] - 25.0;
  in.mask_T[0] = 1;
  in.advantage = -1.0;
  const LossOptions o = {.loss_type = LossType::kGrpo};
  EXPECT_EQ(PolicyLoss(in.View(), o, kNormalizer).dloss_dlogprob_T[0], 0.0);
  EXPECT_EQ(Difference(in, o, 0.0, 0), 0.0);
}

}  // namespace
}  // namespace reprise::rl
