// Compares the gradient of every row's loss, including its divergence and value function, with central differences.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/loss/policy_loss.h"

namespace reprise::rl {
namespace {

constexpr LossNormalizer kNormalizer = {.num_sequences = 3, .num_tokens = 17, .mean_num_tokens = 19};
constexpr double kStep = 1e-5;
constexpr size_t kTokens = 6;

double Uniform(uint64_t seed, uint64_t what, uint64_t t) {
  return DrawUniform(seed, Purpose::kTest, {.turn = what, .token = t});
}

struct Inputs {
  explicit Inputs(uint64_t seed) : advantage(3 * Uniform(seed, 9, 0) - 1.5) {
    for (uint64_t t = 0; t < kTokens; ++t) {
      new_T.push_back(-3 * Uniform(seed, 0, t) - 0.05);
      old_T.push_back(new_T.back() + 0.8 * Uniform(seed, 1, t) - 0.4);
      ref_T.push_back(new_T.back() + Uniform(seed, 2, t) - 0.5);
      advantage_T.push_back(3 * Uniform(seed, 3, t) - 1.5);
    }
  }
  std::vector<double> new_T, old_T, ref_T, advantage_T;
  double advantage;
};

SequenceLoss LossOf(const AlgorithmConfig& row, const Inputs& in) {
  Sequence sequence;
  sequence.logprob_T = in.new_T;
  sequence.old_logprob_T = in.old_T;
  sequence.ref_logprob_T = in.ref_T;
  sequence.advantage = in.advantage;
  if (ByToken(row.advantage)) sequence.advantage_T = in.advantage_T;
  // The exact divergence is a function of the whole distribution, not of the drawn token's log-prob.
  if (row.loss.kl_estimator == KlEstimator::kExact) sequence.exact_kl_T = in.advantage_T;
  return PolicyLoss(sequence, row.loss, kNormalizer);
}

// CISPO and VESPO keep their weights constant: changing the old log-prob equally keeps the ratio.
bool HoldsWeightFixed(const AlgorithmConfig& row) {
  return EffectiveClip(row.loss) == Clip::kCispo || EffectiveClip(row.loss) == Clip::kVespo;
}

double Difference(const AlgorithmConfig& row, const Inputs& in, size_t t) {
  double loss[2];
  for (const int side : {0, 1}) {
    Inputs moved = in;
    const double step = side == 0 ? -kStep : kStep;
    moved.new_T[t] += step;
    if (HoldsWeightFixed(row)) moved.old_T[t] += step;
    loss[side] = LossOf(row, moved).loss;
  }
  return (loss[1] - loss[0]) / (2 * kStep);
}

class RowGradientTest : public ::testing::TestWithParam<absl::string_view> {};

INSTANTIATE_TEST_SUITE_P(EveryRow, RowGradientTest, ::testing::ValuesIn(AlgorithmNames()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(RowGradientTest, AgreesWithFiniteDifferences) {
  int sloped = 0, kinks = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Inputs in(seed);
    for (const double beta : {0.0, 0.3}) {
      ASSERT_OK_AND_ASSIGN(AlgorithmConfig row, FindAlgorithm(GetParam()));
      row.loss.max_completion_length = 16;
      // A bias correction has a gradient through the ratio, which the constant weight must not have.
      if (HoldsWeightFixed(row)) row.loss.use_bias_correction_kl = false;
      SetBeta(beta, &row);
      const SequenceLoss loss = LossOf(row, in);
      for (size_t t = 0; t < kTokens; ++t) {
        const double expected = Difference(row, in, t), actual = loss.dloss_dlogprob_T[t];
        // A ratio at a clip's edge has a different slope on either side: such cases are rare, skipped and counted.
        if (std::fabs(actual - expected) > 1e-6 * std::max(std::fabs(expected), 1e-2) + 1e-11) ++kinks;
        sloped += actual != 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(sloped, 100);
  EXPECT_LE(kinks, 4);
}

TEST(ValueGradientTest, OfPpoAgreesWithFiniteDifferences) {
  ASSERT_OK_AND_ASSIGN(const AlgorithmConfig ppo, FindAlgorithm("ppo"));
  int sloped = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Inputs in(seed);  // values, old values and returns, for once
    const auto loss_of = [&](const std::vector<double>& value_T) {
      return SequenceValueLoss({value_T, in.old_T, in.advantage_T}, ppo.value, kNormalizer);
    };
    const ValueLoss loss = loss_of(in.new_T);
    for (size_t t = 0; t < kTokens; ++t) {
      std::vector<double> low = in.new_T, high = in.new_T;
      low[t] -= kStep, high[t] += kStep;
      const double expected = (loss_of(high).loss - loss_of(low).loss) / (2 * kStep);
      EXPECT_NEAR(loss.dloss_dvalue_T[t], expected, 1e-6 * std::fabs(expected) + 1e-11) << seed << " " << t;
      sloped += expected != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(sloped, 100);
}

}  // namespace
}  // namespace reprise::rl
