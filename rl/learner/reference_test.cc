// Tests of the reference model's strategies: frozen, periodic (every K steps it becomes the policy), ema (every step it
// becomes tau * reference + (1 - tau) * policy, with 1 - tau = ref_model_mixup_alpha), and none.

#include "rl/learner/reference.h"

#include <memory>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/policy/shard_scores.h"

namespace reprise::rl {
namespace {

using testing::Outcome;
using testing::RunLearner;

std::vector<float> Values(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// Returns the log-probabilities that the kernels compute from the packed weights.
std::vector<float> LogprobsOf(const models::Model& model) {
  const std::vector<int32_t> prompt = models::testing::RandomTokens(model.config(), 1, 5);
  const std::vector<int32_t> completion = models::testing::RandomTokens(model.config(), 2, 7);
  ShardWorkspace workspace(model.config());
  std::vector<float> result;
  ScoreShard(
      model.decoder(), {{prompt, {completion}}}, 0, 1.0f,
      [&result](int64_t, int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) {
        result = Values(logprob_T);
      },
      &workspace);
  return result;
}

void Change(models::Model& model, ThreadPool& pool) {
  for (float& weight : model.mutable_parameters()) weight += 0.125f;
  model.Refresh(pool);
}

// Runs with float and with bf16 weights; with bf16 the embedding is packed too.
class SharingTest : public ::testing::TestWithParam<bool> {
 protected:
  SharingTest() : pool_(1) {
    models::DecoderConfig config = models::testing::SmallConfig();
    config.bf16_weights = GetParam();
    config.value_model = models::ValueModel::kHead;  // which the reference does not have
    policy_ = models::testing::RandomModel(config, 3);
    reference_ = FrozenCopy(*policy_);
  }

  ThreadPool pool_;
  std::unique_ptr<models::Model> policy_, reference_;
};

INSTANTIATE_TEST_SUITE_P(InFloatsAndBf16, SharingTest, ::testing::Bool());

TEST_P(SharingTest, ACopySharesThePolicysPackedWeightsUntilTheFirstUpdate) {
  const std::vector<float> parameters = Values(reference_->parameters()), logprob_T = LogprobsOf(*reference_);
  EXPECT_NE(reference_->parameters().data(), policy_->parameters().data());
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  EXPECT_EQ(logprob_T, LogprobsOf(*policy_));
  Change(*policy_, pool_);
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  EXPECT_EQ(Values(reference_->parameters()), parameters);
  EXPECT_EQ(LogprobsOf(*reference_), logprob_T);
  EXPECT_NE(LogprobsOf(*policy_), logprob_T);
}

TEST_P(SharingTest, ChangingTheReferenceDoesNotChangeThePolicy) {
  const std::vector<float> logprob_T = LogprobsOf(*policy_);
  Change(*reference_, pool_);
  EXPECT_EQ(LogprobsOf(*policy_), logprob_T);
  EXPECT_NE(LogprobsOf(*reference_), logprob_T);
}

TEST_P(SharingTest, AReferenceThatBecomesThePolicySharesAgainAndAMixtureDoesNot) {
  Change(*policy_, pool_);
  SyncReference(*policy_, 1, pool_, reference_.get());
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  EXPECT_EQ(LogprobsOf(*reference_), LogprobsOf(*policy_));
  const std::vector<float> logprob_T = LogprobsOf(*reference_);
  Change(*policy_, pool_);
  EXPECT_EQ(LogprobsOf(*reference_), logprob_T);
  SyncReference(*policy_, 0.5, pool_, reference_.get());
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  EXPECT_NE(LogprobsOf(*reference_), LogprobsOf(*policy_));
}

// A forward pass of the policy that sampled computes the recorded log-probabilities, bit for bit.
TEST(ReferenceTest, RecordedLogprobsEqualThoseOfAReferenceThatIsThePolicy) {
  Config config = testing::SmallRun();
  config.algorithm.beta = 0.1;
  Outcome live, replayed;
  ASSERT_OK(RunLearner(config, {}, &live));
  // A replay has no log-probabilities: it runs the forward pass.
  ASSERT_OK(RunLearner(config, {.replay = &live.sink.records}, &replayed));
  const std::vector<EpisodeRecord>& a = live.sink.records[3].episode_N;
  const std::vector<EpisodeRecord>& b = replayed.sink.records[3].episode_N;
  ASSERT_EQ(a.size(), b.size());
  for (size_t n = 0; n < a.size(); ++n) EXPECT_EQ(a[n].ref_logprobs, b[n].ref_logprobs);
}

TEST(ReferenceTest, AMixtureCoversEveryTensor) {
  ThreadPool pool(1);
  for (const double tau : {0.999, 0.5, 0.0}) {
    const auto policy = models::testing::RandomModel(models::testing::SmallConfig(), 3);
    const auto reference = FrozenCopy(*models::testing::RandomModel(models::testing::SmallConfig(), 4));
    const std::vector<float> before = Values(reference->parameters());
    SyncReference(*policy, 1 - tau, pool, reference.get());
    for (const ParameterSpec& spec : policy->layout().specs) {
      SCOPED_TRACE(spec.name);
      bool moves = false;
      for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
        const size_t at = static_cast<size_t>(i);
        const double expected =
            tau * static_cast<double>(before[at]) + (1 - tau) * static_cast<double>(policy->parameters()[at]);
        ASSERT_NEAR(reference->parameters()[at], expected, 1e-6);
        moves |= reference->parameters()[at] != before[at];
      }
      EXPECT_TRUE(moves);
    }
    if (tau == 0) {
      EXPECT_EQ(Values(reference->parameters()), Values(policy->parameters()));
    }
  }
}

// Returns the states after the training steps of a run with these reference keys.
std::vector<LearnerState> StatesWith(double beta, bool follows, double alpha, int64_t steps) {
  Config config = testing::SmallRun();
  config.run.steps = 5;
  config.algorithm.num_iterations = 1;
  config.algorithm.beta = beta;
  config.algorithm.sync_ref_model = follows;
  config.algorithm.ref_model_mixup_alpha = alpha;
  config.algorithm.ref_model_sync_steps = steps;
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, {}, &outcome));
  return std::vector<LearnerState>(outcome.sink.states.begin() + 2, outcome.sink.states.end());
}

// [0]: after the warm-up, where training begins.
TEST(ReferenceTest, WithoutADivergenceThereIsNoReference) {
  for (const LearnerState& state : StatesWith(0, true, 1, 1)) EXPECT_TRUE(state.reference.empty());
}

TEST(ReferenceTest, AFrozenReferenceKeepsTheWeightsFromTheStartOfTraining) {
  const std::vector<LearnerState> states = StatesWith(0.1, false, 1, 1);
  for (size_t k = 1; k < states.size(); ++k) {
    EXPECT_EQ(states[k].reference, states[0].weights);
    EXPECT_NE(states[k].weights, states[0].weights);
  }
}

TEST(ReferenceTest, APeriodicReferenceBecomesThePolicyEveryKSteps) {
  const std::vector<LearnerState> states = StatesWith(0.1, true, 1, 2);
  for (size_t k = 1; k < states.size(); ++k) EXPECT_EQ(states[k].reference, states[k / 2 * 2].weights) << k;
}

TEST(ReferenceTest, AnEmaReferenceMovesAShareOfTheWayEveryStep) {
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
