// The reference model's strategies: frozen, periodic (every K steps it becomes the policy), ema (every step it becomes
// tau of itself and 1 - tau of the policy: ref_model_mixup_alpha), and none.

#include "rl/learner/reference.h"

#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing.h"
#include "rl/learner/learner_testing.h"

namespace reprise::rl {
namespace {

using testing::Outcome;
using testing::RunLearner;

std::vector<float> Values(absl::Span<const float> values) { return {values.begin(), values.end()}; }

TEST(ReferenceTest, IsADeepCopy) {
  ThreadPool pool(1);
  const auto policy = models::testing::RandomModel(models::testing::SmallConfig(), 3);
  const auto reference = FrozenCopy(*policy, pool);
  EXPECT_EQ(Values(reference->parameters()), Values(policy->parameters()));
  EXPECT_NE(reference->parameters().data(), policy->parameters().data());
  const std::vector<float> before = Values(reference->parameters());
  for (float& weight : policy->mutable_parameters()) weight += 1;
  policy->Refresh(pool);
  EXPECT_EQ(Values(reference->parameters()), before);
}

TEST(ReferenceTest, AMixtureIsOfEveryTensor) {
  ThreadPool pool(1);
  for (const double tau : {0.999, 0.5, 0.0}) {
    const auto policy = models::testing::RandomModel(models::testing::SmallConfig(), 3);
    const auto reference = models::testing::RandomModel(models::testing::SmallConfig(), 4);
    const std::vector<float> before = Values(reference->parameters());
    SyncReference(*policy, 1 - tau, pool, reference.get());
    for (const models::ParameterSpec& spec : policy->layout().specs) {
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

// The states after the training steps of a run whose reference follows by the keys.
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
TEST(ReferenceTest, WithoutADivergenceThereIsNone) {
  for (const LearnerState& state : StatesWith(0, true, 1, 1)) EXPECT_TRUE(state.reference.empty());
}

TEST(ReferenceTest, AFrozenOneStaysWhatThePolicyWasAsTrainingBegan) {
  const std::vector<LearnerState> states = StatesWith(0.1, false, 1, 1);
  for (size_t k = 1; k < states.size(); ++k) {
    EXPECT_EQ(states[k].reference, states[0].weights);
    EXPECT_NE(states[k].weights, states[0].weights);
  }
}

TEST(ReferenceTest, APeriodicOneBecomesThePolicyEveryKSteps) {
  const std::vector<LearnerState> states = StatesWith(0.1, true, 1, 2);
  for (size_t k = 1; k < states.size(); ++k) EXPECT_EQ(states[k].reference, states[k / 2 * 2].weights) << k;
}

TEST(ReferenceTest, AnEmaMovesAShareOfTheWayEveryStep) {
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
