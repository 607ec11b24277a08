// Tests of runs with a reference model: they are as invariant as runs without one, and the reference restrains
// them. Its strategies: frozen, periodic (every K steps it becomes the policy), ema (every step it becomes tau *
// reference
// + (1 - tau) * policy, with 1 - tau = ref_model_mixup_alpha), and none.

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
using testing::RunOptions;

// grpo adds the divergence to the loss, rloo subtracts it from the reward.
Config RunOf(const std::string& algorithm, double beta) {
  Config config = testing::SmallRun();
  SelectPreset(algorithm, &config.algorithm);
  SetBeta(beta, &config.algorithm);
  return config;
}

class LearnerReferenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  Config config() const { return RunOf(GetParam(), 0.1); }
};

INSTANTIATE_TEST_SUITE_P(InLossOrReward, LearnerReferenceTest, ::testing::Values("grpo", "rloo"));

TEST_P(LearnerReferenceTest, TheFirstStepHasNoDivergenceAndLaterOnesHaveSome) {
  Outcome outcome;
  ASSERT_OK(RunLearner(config(), {}, &outcome));
  ASSERT_EQ(outcome.sink.records.size(), 7u);
  for (size_t i = 3; i < 7; ++i) {
    const StepRecord& record = outcome.sink.records[i];
    for (const EpisodeRecord& episode : record.episode_N) {
      ASSERT_EQ(static_cast<int64_t>(episode.ref_logprobs.size()), episode.decisions.count);
      EXPECT_EQ(episode.ref_logprobs == episode.logprobs, i == 3);
    }
    if (i > 3) {
      EXPECT_NE(GetMetric(record, "kl"), 0.0);
    }
  }
  for (const EpisodeRecord& episode : outcome.sink.records[0].episode_N) EXPECT_TRUE(episode.ref_logprobs.empty());
}

TEST_P(LearnerReferenceTest, ItsFirstUpdateHasADivergenceOfExactlyZero) {
  Config config = this->config();
  config.algorithm.update.num_iterations = 1;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  EXPECT_EQ(GetMetric(outcome.sink.records[3], "kl"), 0.0);
  EXPECT_NE(GetMetric(outcome.sink.records[4], "kl"), 0.0);
}

TEST_P(LearnerReferenceTest, GivesTheSameRecordsForAnyRanksAndExecutionKeysAndInAReplay) {
  Outcome baseline;
  ASSERT_OK(RunLearner(config(), {}, &baseline));
  for (int ranks : {2, 3, 8}) {
    Outcome outcome;
    ASSERT_OK(RunLearner(config(), {.ranks = ranks}, &outcome));
    ExpectSame(baseline, outcome);
  }
  Config other = config();
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 9;
  other.execution.decode_slots = 3;
  for (const std::vector<StepRecord>* replay :
       {static_cast<std::vector<StepRecord>*>(nullptr), &baseline.sink.records}) {
    Outcome outcome;
    ASSERT_OK(RunLearner(other, {.ranks = 2, .replay = replay}, &outcome));
    ExpectSame(baseline, outcome);
    EXPECT_GT(outcome.counts.cut_groups, 0);
  }
}

TEST_P(LearnerReferenceTest, ItsWeightMattersFromTheSecondStepOn) {
  Outcome weak, strong;
  Config config = this->config();
  config.algorithm.update.num_iterations = 1;
  ASSERT_OK(RunLearner(config, {}, &weak));
  SetBeta(10, &config.algorithm);
  ASSERT_OK(RunLearner(config, {}, &strong));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(weak.sink.records[i].weight_digests, strong.sink.records[i].weight_digests);
  EXPECT_NE(weak.sink.records[4].weight_digests, strong.sink.records[4].weight_digests);
}

// A forward pass of the policy that sampled computes the recorded log-probabilities, bit for bit.
TEST(ReferenceStrategyTest, RecordedLogprobsEqualThoseOfAReferenceThatIsThePolicy) {
  Config config = testing::SmallRun();
  SetBeta(0.1, &config.algorithm);
  Outcome live, replayed;
  ASSERT_OK(RunLearner(config, {}, &live));
  // A replay has no log-probabilities: it runs the forward pass.
  ASSERT_OK(RunLearner(config, {.replay = &live.sink.records}, &replayed));
  const std::vector<EpisodeRecord>& a = live.sink.records[3].episode_N;
  const std::vector<EpisodeRecord>& b = replayed.sink.records[3].episode_N;
  ASSERT_EQ(a.size(), b.size());
  for (size_t n = 0; n < a.size(); ++n) EXPECT_EQ(a[n].ref_logprobs, b[n].ref_logprobs);
}

// Returns the states after the training steps of a run with these reference keys.
std::vector<LearnerState> StatesWith(double beta, bool follows, double alpha, int64_t steps) {
  Config config = testing::SmallRun();
  config.run.steps = 5;
  config.algorithm.update.num_iterations = 1;
  SetBeta(beta, &config.algorithm);
  config.algorithm.reference.sync = follows;
  config.algorithm.reference.mixup_alpha = alpha;
  config.algorithm.reference.sync_steps = steps;
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, {}, &outcome));
  return std::vector<LearnerState>(outcome.sink.states.begin() + 2, outcome.sink.states.end());
}

// [0]: after the SFT phase, where training begins.
TEST(ReferenceStrategyTest, WithoutADivergenceThereIsNoReference) {
  for (const LearnerState& state : StatesWith(0, true, 1, 1)) EXPECT_TRUE(state.reference.empty());
}

TEST(ReferenceStrategyTest, AFrozenReferenceKeepsTheWeightsFromTheStartOfTraining) {
  const std::vector<LearnerState> states = StatesWith(0.1, false, 1, 1);
  for (size_t k = 1; k < states.size(); ++k) {
    EXPECT_EQ(states[k].reference, states[0].weights);
    EXPECT_NE(states[k].weights, states[0].weights);
  }
}

TEST(ReferenceStrategyTest, APeriodicReferenceBecomesThePolicyEveryKSteps) {
  const std::vector<LearnerState> states = StatesWith(0.1, true, 1, 2);
  for (size_t k = 1; k < states.size(); ++k) EXPECT_EQ(states[k].reference, states[k / 2 * 2].weights) << k;
}

TEST(ReferenceStrategyTest, AnEmaReferenceMovesAShareOfTheWayEveryStep) {
  const double tau = 0.75;
  const std::vector<LearnerState> states = StatesWith(0.1, true, 1 - tau, 1);
  std::vector<float> expected = states[0].weights;
  for (size_t k = 1; k < states.size(); ++k) {
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = 0.25f * states[k].weights[i] + 0.75f * expected[i];
    EXPECT_EQ(states[k].reference, expected) << k;
  }
}

}  // namespace
}  // namespace reprise::rl
