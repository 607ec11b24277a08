// Tests the expected gradient of each estimate of the divergence, by enumerating every action.

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "rl/loss/policy_loss.h"
#include "rl/loss/terms.h"
#include "rl/testing/bandit.h"
#include "rl/testing/exact_divergence.h"

namespace reprise::rl {
namespace {

using testing::AddScore;
using testing::Distance;
using testing::Game;
using testing::LogProbs;
using testing::Norm;
using testing::Path;
using testing::PathDivergenceGradient;
using testing::Probability;
using testing::RandomGame;
using testing::RandomPolicy;
using testing::Table;

constexpr double kExact = 1e-12;

struct Policies {
  Game game;
  Table policy, reference, sampler;
};

Policies OfSeed(uint64_t seed) {
  const Game game = RandomGame(seed, /*depth=*/1, /*zero_stops=*/false, 0.0, 1.0);
  return {game, RandomPolicy(seed, game), RandomPolicy(seed + 50, game), RandomPolicy(seed + 90, game)};
}

// Returns the expectation, under the sampling policy, of the gradient of a loss that consists only of the divergence.
Table ExpectedGradient(const Policies& p, KlEstimator estimator, bool bias_correction, bool on_policy) {
  const LossOptions options = {.aggregation = Aggregation::kSum,
                               .beta = 1.0,
                               .kl_estimator = estimator,
                               .use_bias_correction_kl = bias_correction};
  Table gradient(p.policy.size(), 0.0);
  for (const Path& path : Paths(p.game)) {
    const std::vector<double> logprob_T = LogProbs(p.game, p.policy, path);
    const std::vector<double> old_T = LogProbs(p.game, p.sampler, path), ref_T = LogProbs(p.game, p.reference, path);
    Sequence sequence = {.logprob_T = logprob_T, .ref_logprob_T = ref_T, .advantage = 0.0};
    if (!on_policy) sequence.old_logprob_T = old_T;
    const SequenceLoss loss = PolicyLoss(sequence, options, {});
    const double probability = Probability(p.game, on_policy ? p.policy : p.sampler, path);
    AddScore(p.game, p.policy, path, 0, probability * loss.dloss_dlogprob_T[0], &gradient);
  }
  return gradient;
}

// The gradient of KL(reference || policy) by the policy's logits: policy - reference.
Table ReverseGradient(const Policies& p) {
  Table gradient;
  for (const Path& path : Paths(p.game)) {
    gradient.push_back(Probability(p.game, p.policy, path) - Probability(p.game, p.reference, path));
  }
  return gradient;
}

TEST(KlGradientTest, OfK1IsZero) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Policies p = OfSeed(seed);
    EXPECT_LT(Norm(ExpectedGradient(p, KlEstimator::kK1, false, true)), kExact);
  }
}

TEST(KlGradientTest, OfK2AndOfCorrectedK3IsThatOfTheDivergence) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Policies p = OfSeed(seed);
    const Table expected = PathDivergenceGradient(p.game, p.policy, p.reference);
    EXPECT_LT(Distance(ExpectedGradient(p, KlEstimator::kK2, false, true), expected), kExact);
    EXPECT_LT(Distance(ExpectedGradient(p, KlEstimator::kK3, true, true), expected), kExact);
    EXPECT_GT(Norm(expected), 1e-2);
  }
}

TEST(KlGradientTest, OfK3IsThatOfTheReverseDivergence) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Policies p = OfSeed(seed);
    const Table gradient = ExpectedGradient(p, KlEstimator::kK3, false, true);
    EXPECT_LT(Distance(gradient, ReverseGradient(p)), kExact);
    EXPECT_GT(Distance(gradient, PathDivergenceGradient(p.game, p.policy, p.reference)), 1e-3);
  }
}

TEST(KlGradientTest, OfCorrectedEstimatesIsThatOfTheDivergenceForAnySampler) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Policies p = OfSeed(seed);
    const Table expected = PathDivergenceGradient(p.game, p.policy, p.reference);
    EXPECT_LT(Distance(ExpectedGradient(p, KlEstimator::kK1, true, false), expected), kExact);
    EXPECT_LT(Distance(ExpectedGradient(p, KlEstimator::kK3, true, false), expected), kExact);
  }
}

TEST(KlGradientTest, OfTheExactDivergenceNeedsNoExpectation) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Policies p = OfSeed(seed);
    std::vector<double> logprob_V, ref_V;
    for (const Path& path : Paths(p.game)) {
      logprob_V.push_back(LogProbs(p.game, p.policy, path)[0]);
      ref_V.push_back(LogProbs(p.game, p.reference, path)[0]);
    }
    const ExactDivergence kl = ExactKl(logprob_V, ref_V);
    EXPECT_NEAR(kl.value, PathDivergence(p.game, p.policy, p.reference), kExact);
    EXPECT_LT(Distance(kl.d_logit_V, PathDivergenceGradient(p.game, p.policy, p.reference)), kExact);
  }
}

}  // namespace
}  // namespace reprise::rl
