#include "rl/loss/policy_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr LossNormalizer kNormalizer = {.num_sequences = 2, .num_tokens = 8, .mean_num_tokens = 8};

std::vector<LossType> AllTypes() {
  std::vector<LossType> types;
  for (int i = 0; i <= static_cast<int>(LossType::kRloo); ++i) types.push_back(static_cast<LossType>(i));
  return types;
}

LossOptions OptionsOf(LossType type) {
  LossOptions options = {.loss_type = type, .max_completion_length = 16};
  if (type == LossType::kRloo) options.importance_sampling_level = ImportanceLevel::kSequenceSum;
  if (type == LossType::kCispo) options.epsilon_high = 5.0;  // CISPO: the cap of the ratio itself
  return options;
}

TEST(PolicyLossTest, HasTheClosedFormOfTwoSamplesOnPolicy) {
  // Advantages +-a, one token each: the ratio is exactly 1, the loss cancels and the gradient is -+a / 2.
  const std::vector<double> logprob = {-0.7};
  const double a = 0.70701;
  for (LossType type : {LossType::kGrpo, LossType::kRloo, LossType::kLuspo}) {
    const SequenceLoss good = PolicyLoss({.logprob_T = logprob, .advantage = a}, OptionsOf(type), kNormalizer);
    const SequenceLoss bad = PolicyLoss({.logprob_T = logprob, .advantage = -a}, OptionsOf(type), kNormalizer);
    EXPECT_EQ(good.loss + bad.loss, 0.0);
    EXPECT_EQ(good.dloss_dlogprob_T, (std::vector<double>{-a / 2}));
    EXPECT_EQ(bad.dloss_dlogprob_T, (std::vector<double>{a / 2}));
  }
}

TEST(PolicyLossTest, IsOnPolicyExactlyWhenTheLogProbsAreEqual) {
  const std::vector<double> logprob_T = {-0.3, -1.7, -0.02, -5.5};
  for (LossType type : AllTypes()) {
    LossOptions options = OptionsOf(type);
    if (type != LossType::kRloo) options.beta = 0.3;
    const Sequence implied = {.logprob_T = logprob_T, .ref_logprob_T = logprob_T, .advantage = 1.3};
    Sequence given = implied;
    given.old_logprob_T = logprob_T;
    const SequenceLoss a = PolicyLoss(implied, options, kNormalizer), b = PolicyLoss(given, options, kNormalizer);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.dloss_dlogprob_T, b.dloss_dlogprob_T);
    EXPECT_EQ(b.metrics.kl_sum, 0.0);
    EXPECT_EQ(b.metrics.low_clipped + b.metrics.high_clipped + b.metrics.clamped, 0);
    EXPECT_EQ(b.metrics.max_abs_log_ratio, 0.0);
  }
}

// Ratios of 2 for the whole sequence: an advantage above 0 clips it, one below 0 does not. The first token is masked.
TEST(PolicyLossTest, TokensWithTheirOwnAdvantagesAreCountedSeparately) {
  const std::vector<double> new_T = {-9.0, -1.0, -1.0, -1.0}, old_T(4, -1.0 - std::log(2.0));
  const std::vector<double> advantage_T = {-5.0, 1.0, -1.0, 1.0};
  const std::vector<uint8_t> mask_T = {0, 1, 1, 1};
  LossOptions options = OptionsOf(LossType::kGrpo);
  options.importance_sampling_level = ImportanceLevel::kSequence;
  const Sequence own = {.logprob_T = new_T, .old_logprob_T = old_T, .mask_T = mask_T, .advantage_T = advantage_T};
  const SequenceLoss loss = PolicyLoss(own, options, kNormalizer);
  EXPECT_EQ(loss.metrics.num_ratios, 3);
  EXPECT_EQ(loss.metrics.high_clipped, 2);
  EXPECT_EQ(loss.metrics.low_clipped, 0);
  Sequence shared = own;
  shared.advantage_T = {};
  shared.advantage = 1.0;
  EXPECT_EQ(PolicyLoss(shared, options, kNormalizer).metrics.num_ratios, 1);
  EXPECT_EQ(PolicyLoss(shared, options, kNormalizer).metrics.high_clipped, 1);

  const LossOptions vespo = OptionsOf(LossType::kVespo);
  const auto weights = [&](double advantage) {
    shared.advantage = advantage;
    const SequenceLossMetrics metrics = PolicyLoss(shared, vespo, kNormalizer).metrics;
    EXPECT_EQ(metrics.num_vespo_weights, 1);
    return metrics.vespo_weight_sum;
  };
  const SequenceLossMetrics metrics = PolicyLoss(own, vespo, kNormalizer).metrics;
  EXPECT_EQ(metrics.num_vespo_weights, 3);
  EXPECT_NE(weights(1.0), weights(-1.0));
  EXPECT_NEAR(metrics.vespo_weight_sum, 2 * weights(1.0) + weights(-1.0), 1e-12);
}

TEST(PolicyLossTest, NeverReadsMaskedTokens) {
  const std::vector<double> new_T = {-0.3, kNan, -1.2, 500.0}, old_T = {-0.5, kInf, -1.0, 0.0},
                            ref_T = {-0.4, -kInf, -1.1, kNan}, entropy_T = {1.0, kNan, 2.0, kInf};
  const std::vector<uint8_t> mask_T = {1, 0, 1, 0};
  const std::vector<double> new2 = {-0.3, -1.2}, old2 = {-0.5, -1.0}, ref2 = {-0.4, -1.1}, entropy2 = {1.0, 2.0};
  for (LossType type : AllTypes()) {
    LossOptions options = OptionsOf(type);
    if (type != LossType::kRloo) options.beta = 0.3;
    options.entropy_coef = 0.01;
    const SequenceLoss masked = PolicyLoss({new_T, old_T, ref_T, entropy_T, mask_T, -1.3}, options, kNormalizer);
    const SequenceLoss packed = PolicyLoss({new2, old2, ref2, entropy2, {}, -1.3}, options, kNormalizer);
    EXPECT_NEAR(masked.loss, packed.loss, 1e-15);
    EXPECT_EQ(masked.dloss_dlogprob_T[1], 0.0);
    EXPECT_EQ(masked.dloss_dlogprob_T[3], 0.0);
    EXPECT_EQ(masked.dloss_dentropy_T[1], 0.0);
    EXPECT_NEAR(masked.dloss_dlogprob_T[0], packed.dloss_dlogprob_T[0], 1e-15);
    EXPECT_NEAR(masked.dloss_dlogprob_T[2], packed.dloss_dlogprob_T[1], 1e-15);
    EXPECT_EQ(masked.metrics.num_tokens, 2);
  }
}

TEST(PolicyLossTest, StaysFiniteForAnyLogRatio) {
  for (double shift : {-200.0, 200.0, 1e300}) {
    const std::vector<double> new_T = {-0.3 - shift, -1.0}, old_T = {-0.3, -1.1}, ref_T = {-0.3, -1.3};
    for (LossType type : AllTypes()) {
      for (double advantage : {-1.0, 1.0}) {
        LossOptions options = OptionsOf(type);
        if (type != LossType::kRloo) options.beta = 0.3;
        const SequenceLoss loss = PolicyLoss({new_T, old_T, ref_T, {}, {}, advantage}, options, kNormalizer);
        EXPECT_TRUE(std::isfinite(loss.loss)) << LossTypeName(type);
        for (double d : loss.dloss_dlogprob_T) EXPECT_TRUE(std::isfinite(d)) << LossTypeName(type);
        EXPECT_GE(loss.metrics.clamped, 1);
        EXPECT_EQ(loss.metrics.max_abs_log_ratio, std::fabs(shift));
      }
    }
  }
}

TEST(PolicyLossTest, WithoutTokensHasNoGradient) {
  const std::vector<double> none;
  for (LossType type : AllTypes()) {
    const SequenceLoss loss = PolicyLoss({.advantage = 2.0}, OptionsOf(type), kNormalizer);
    EXPECT_TRUE(loss.dloss_dlogprob_T.empty());
    // RLOO's mean over sequences includes the empty completion, whose probability is always 1.
    EXPECT_EQ(loss.loss, type == LossType::kRloo ? -1.0 : 0.0);
  }
}

TEST(PolicyLossTest, HasOnlyTheDivergenceWhereTheEntropyIsLow) {
  const std::vector<double> new_T = {-0.3, -1.2}, ref_T = {-0.3, -1.0}, entropy_T = {0.5, 2.0};
  LossOptions options = OptionsOf(LossType::kDapo);
  options.top_entropy_quantile = 0.5;
  options.beta = 0.3;
  const SequenceLoss loss = PolicyLoss({new_T, {}, ref_T, entropy_T, {}, 1.0}, options, kNormalizer, 1.0);
  EXPECT_EQ(loss.dloss_dlogprob_T[0], 0.0);  // at the reference
  EXPECT_NE(loss.dloss_dlogprob_T[1], 0.0);
}

// Log-probs, old log-probs and advantages of a few sequences.
struct Minibatch {
  std::vector<std::vector<double>> new_NT, old_NT;
  std::vector<double> advantage_N;
};

Minibatch RandomMinibatch() {
  Minibatch batch;
  const int sequences = *rc::gen::inRange(1, 6);
  for (int n = 0; n < sequences; ++n) {
    const int tokens = *rc::gen::inRange(0, 9);
    batch.new_NT.emplace_back();
    batch.old_NT.emplace_back();
    for (int t = 0; t < tokens; ++t) {
      batch.new_NT.back().push_back(-*rc::gen::inRange(0, 5000) * 1e-3);
      batch.old_NT.back().push_back(-*rc::gen::inRange(0, 5000) * 1e-3);
    }
    batch.advantage_N.push_back(*rc::gen::inRange(-2000, 2000) * 1e-3);
  }
  return batch;
}

RC_GTEST_PROP(PolicyLossTest, OfASequenceDoesNotDependOnOtherSequences, ()) {
  // Each sequence has the same bits in every order of evaluation.
  const Minibatch batch = RandomMinibatch();
  const LossOptions options = OptionsOf(AllTypes()[*rc::gen::inRange(0, 9)]);
  const auto loss_of = [&](size_t n) {
    return PolicyLoss({batch.new_NT[n], batch.old_NT[n], {}, {}, {}, batch.advantage_N[n]}, options, kNormalizer);
  };
  std::vector<SequenceLoss> forward, backward;
  for (size_t n = 0; n < batch.new_NT.size(); ++n) forward.push_back(loss_of(n));
  for (size_t n = batch.new_NT.size(); n-- > 0;) backward.push_back(loss_of(n));
  std::reverse(backward.begin(), backward.end());
  for (size_t n = 0; n < forward.size(); ++n) {
    RC_ASSERT(forward[n].loss == backward[n].loss);
    RC_ASSERT(forward[n].dloss_dlogprob_T == backward[n].dloss_dlogprob_T);
  }
}

RC_GTEST_PROP(PolicyLossTest, GivesNoPolicyGradientWithoutAnAdvantage, ()) {
  const Minibatch batch = RandomMinibatch();
  const LossOptions options = OptionsOf(AllTypes()[*rc::gen::inRange(0, 9)]);
  const SequenceLoss loss = PolicyLoss({batch.new_NT[0], batch.old_NT[0], {}, {}, {}, 0.0}, options, kNormalizer);
  RC_ASSERT(loss.loss == 0.0);
  for (double d : loss.dloss_dlogprob_T) RC_ASSERT(d == 0.0);
}

// The weights are 0.05, max(0.05, 0.04 * 1.5) = 0.06 and, masked, none, each by the 4 tokens of the minibatch.
TEST(PolicyLossTest, TheFloorOfAnEntropysWeightIsScaledByToken) {
  const std::vector<double> logprob_T = {-1, -1, -1}, entropy_T = {0.5, 0.25, 7}, scale_T = {1.0, 1.5, 3.0};
  const std::vector<uint8_t> mask_T = {1, 1, 0};
  Sequence sequence = {.logprob_T = logprob_T, .entropy_T = entropy_T, .mask_T = mask_T};
  const LossNormalizer normalizer = {.num_sequences = 1, .num_tokens = 4, .mean_num_tokens = 4};
  LossOptions options = {.entropy_coef = 0.05, .entropy_floor = 0.04};
  const double plain = PolicyLoss(sequence, options, normalizer).loss;  // no scales: no floor
  EXPECT_NEAR(plain, -0.05 * 0.75 / 4, 1e-15);
  sequence.entropy_floor_scale_T = scale_T;
  const SequenceLoss loss = PolicyLoss(sequence, options, normalizer);
  EXPECT_NEAR(loss.loss, -(0.05 * 0.5 + 0.06 * 0.25) / 4, 1e-15);
  EXPECT_NEAR(loss.dloss_dentropy_T[0], -0.05 / 4, 1e-15);
  EXPECT_NEAR(loss.dloss_dentropy_T[1], -0.06 / 4, 1e-15);
  EXPECT_EQ(loss.dloss_dentropy_T[2], 0.0);
  options.entropy_floor = 0;
  EXPECT_EQ(PolicyLoss(sequence, options, normalizer).loss, plain);
}

// Ratios 2 and 1/2, and one masked.
TEST(PolicyLossTest, MetricsIncludeTheSpreadOfRatios) {
  const double log2 = 0.6931471805599453;
  const std::vector<double> logprob_T = {-1, -1, -1}, old_T = {-1 - log2, -1 + log2, -9};
  const std::vector<uint8_t> mask_T = {1, 1, 0};
  const SequenceLossMetrics m =
      PolicyLoss({.logprob_T = logprob_T, .old_logprob_T = old_T, .mask_T = mask_T}, {}, {.num_tokens = 2}).metrics;
  EXPECT_NEAR(m.least_ratio, 0.5, 1e-15);
  EXPECT_NEAR(m.greatest_ratio, 2, 1e-15);
  EXPECT_NEAR(m.squared_ratio_distance_sum, 1.25, 1e-14);
}

}  // namespace
}  // namespace reprise::rl
