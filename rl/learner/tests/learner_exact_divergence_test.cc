// Tests of kl_estimator = "exact" with the whole learner.

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::GetMetric;
using testing::Outcome;
using testing::RunLearner;

Config ExactRun() {
  Config config = testing::SmallRun();
  SetBeta(0.1, &config.algorithm);
  SetEstimator(KlEstimator::kExact, &config.algorithm);
  config.optimizer.learning_rate = 3e-3;
  return config;
}

TEST(LearnerExactDivergenceTest, RanksThreadsBatchesAndIterationsChangeNoBitAndAReplayAgrees) {
  for (const bool more : {false, true}) {
    Config config = ExactRun();
    if (more) {
      SelectPreset("ppo", &config.algorithm);
      SetKlInReward(false, &config.algorithm);
      config.algorithm.update.num_mini_batches = 2;
      config.algorithm.reference.sync = true;
      config.algorithm.reference.sync_steps = 2;
      config.algorithm.entropy.entropy_coef = 0.01;
    }
    Outcome expected, outcome, replayed;
    ASSERT_OK(RunLearner(config, {}, &expected));
    Config pieces = config;
    pieces.execution.threads = 2;
    pieces.execution.micro_batch_tokens = 9;
    pieces.execution.activation_checkpointing = true;
    ASSERT_OK(RunLearner(pieces, {.ranks = 3}, &outcome));
    EXPECT_GT(outcome.counts.cut_groups, 0);
    ExpectSame(expected, outcome);
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &expected.sink.records}, &replayed));
    ExpectSame(expected, replayed);
  }
}

// While the policy equals the reference, neither estimator has a gradient: the second step is the same for both.
TEST(LearnerExactDivergenceTest, ItsMetricIsCloseToK3OfTheDrawnTokens) {
  Config estimated = ExactRun(), exact = ExactRun();
  SetEstimator(KlEstimator::kK3, &estimated.algorithm);
  estimated.algorithm.update.num_iterations = exact.algorithm.update.num_iterations = 1;
  estimated.rollout.num_generations = exact.rollout.num_generations = 16;
  Outcome a, b;
  ASSERT_OK(RunLearner(exact, {}, &a));
  ASSERT_OK(RunLearner(estimated, {}, &b));
  const size_t first = a.sink.records.size() - 4;
  EXPECT_EQ(GetMetric(a.sink.records[first], "kl"), 0);
  ASSERT_EQ(a.sink.records[first].weight_digests, b.sink.records[first].weight_digests);
  const double kl = GetMetric(a.sink.records[first + 1], "kl"), k3 = GetMetric(b.sink.records[first + 1], "kl");
  EXPECT_GT(kl, 1e-4);
  EXPECT_NEAR(k3, kl, 0.3 * kl);
  EXPECT_NE(a.sink.records[first + 1].weight_digests, b.sink.records[first + 1].weight_digests);
}

TEST(LearnerExactDivergenceTest, ALargerWeightKeepsThePolicyCloserToTheReference) {
  const auto kl_with = [](double beta) {
    Config config = ExactRun();
    config.run.steps = 6;
    SetBeta(beta, &config.algorithm);
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {}, &outcome));
    return GetMetric(outcome.sink.records.back(), "kl");
  };
  EXPECT_LT(kl_with(30), 0.5 * kl_with(1e-6));
}

}  // namespace
}  // namespace reprise::rl
