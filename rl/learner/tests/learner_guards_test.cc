// Tests that non-finite numbers, and a model that cannot learn, end a run on every rank with an error that names them,
// without changing the weights; a failed update is not committed.

#include <cmath>
#include <limits>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLearner;
using testing::RunOptions;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// No SFT phase: the weights at the end must be those of the start.
Config TrainingOnly() {
  Config config = testing::SmallRun();
  config.sft.steps = 0;
  return config;
}

// Runs on three ranks and expects the same error on all of them, and no changed weight on any.
void ExpectRefused(const Config& config, RunOptions how, const ::testing::Matcher<const std::string&>& message,
                   absl::StatusCode code = absl::StatusCode::kInternal) {
  how.ranks = 3;
  Config untouched = config;
  untouched.run.steps = 0;
  untouched.sft.steps = 0;
  Outcome start, outcome;
  ASSERT_OK(RunLearner(untouched, {}, &start));
  RunLearner(config, how, &outcome).IgnoreError();
  EXPECT_TRUE(outcome.sink.records.empty());
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(outcome.status_R[rank], StatusIs(code, message)) << rank;
    EXPECT_EQ(outcome.last_weights_R[rank], start.last_weights_R[0]) << rank;
  }
}

TEST(LearnerGuardsTest, RejectARewardThatIsNotFinite) {
  const RewardFunction reward = [](const Completion& completion) {
    return completion.answer.size() == 4 ? kInfinity : 1.0;
  };
  ExpectRefused(
      TrainingOnly(), {.reward = reward},
      AllOf(HasSubstr("step 1: rank 1: "), HasSubstr("the reward character_match of prompt 3 sample 0 is inf")));
}

// Each reward can be computed with, but not their distances from their mean. Nothing is corrupt: the user's keys are to
// be changed.
TEST(LearnerGuardsTest, RejectRewardsWhoseAdvantagesAreTooLargeOrTooSmall) {
  Config config = TrainingOnly();
  config.algorithm.advantage.scale_rewards = ScaleRewards::kNone;
  const RewardFunction far =
                           [](const Completion& completion) { return completion.text.size() % 2 == 0 ? 1e18 : -1e18; },
                       close = [](const Completion& completion) {
                         return completion.text.size() % 2 == 0 ? 3e-308 : 4e-308;
                       };
  ExpectRefused(config, {.reward = far},
                AllOf(HasSubstr("step 1: the advantage of prompt "), HasSubstr("e+18, more than the 1e18 that"),
                      HasSubstr("too far apart; choose smaller rewards or weights of them (algorithm.reward_weights")),
                absl::StatusCode::kInvalidArgument);
  ExpectRefused(config, {.reward = close},
                AllOf(HasSubstr("less than the 2.3e-308 that"), HasSubstr("close to each other; choose larger")),
                absl::StatusCode::kInvalidArgument);
}

TEST(LearnerGuardsTest, RejectASampledLogProbabilityThatIsNotFinite) {
  const auto spoil = [](int rank, Phase, int64_t, models::Model&, Episodes& episodes) {
    if (rank == 2) episodes.episode_N[1].logprobs[0] = kNan;
  };
  ExpectRefused(TrainingOnly(), {.spoil = spoil},
                HasSubstr("rank 2: prompt 6 sample 1: old_logprob of token 0 is nan"));
}

// The weight is corrupted after sampling, in the packed weights that the kernels read, and restored in the parameters
// that are compared.
TEST(LearnerGuardsTest, RejectAComputedLogProbabilityThatIsNotFinite) {
  const auto spoil = [](int, Phase, int64_t, models::Model& model, Episodes&) {
    const size_t norm = static_cast<size_t>(model.layout().specs[model.layout().lm_head].offset);
    ThreadPool pool(1);
    const float weight = std::exchange(model.mutable_parameters()[norm], kNan);
    model.Refresh(pool);
    model.mutable_parameters()[norm] = weight;
  };
  ExpectRefused(TrainingOnly(), {.spoil = spoil},
                AllOf(HasSubstr("step 1: "), HasSubstr("rank 0: prompt 0 sample 0: logprob of token 0 is nan")));
  Config sft = testing::SmallRun();
  ExpectRefused(sft, {.spoil = spoil},
                AllOf(HasSubstr("SFT step 1: "), HasSubstr("prompt 0 sample 0: logprob of token 0 is nan")));
}

// Corrupted values are reported before advantages are computed from them.
TEST(LearnerGuardsTest, NameACorruptedValueHeadOnItsRank) {
  const auto spoil = [](int rank, Phase, int64_t, models::Model& model, Episodes&) {
    const models::DecoderLayout& layout = model.layout();
    if (rank != 2) return;
    model.mutable_parameters()[layout.specs[layout.value.weight].offset] = kNan;
  };
  Config config = TrainingOnly();
  SelectPreset("ppo", &config.algorithm);
  SetBeta(0, &config.algorithm);  // otherwise the divergence would cause an earlier check
  Outcome outcome;
  RunLearner(config, {.ranks = 3, .spoil = spoil}, &outcome).IgnoreError();
  for (const absl::Status& status : outcome.status_R) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 AllOf(HasSubstr("step 1: rank 2: prompt "), HasSubstr("old value of token 0 is nan"),
                                       HasSubstr("the corruption is in v_head.summary.weight (element 0 is nan)"))));
  }
}

TEST(LearnerGuardsTest, RejectALearningRateThatIsNotFinite) {
  Config config = TrainingOnly();
  config.optimizer.learning_rate = kInfinity;
  ExpectRefused(config, {}, HasSubstr("step 1: the learning rate is inf"));
  config = testing::SmallRun();
  config.sft.learning_rate = kInfinity;
  ExpectRefused(config, {}, HasSubstr("SFT step 1: the learning rate is inf"));
}

// Runs on one rank and on three; expects that all ranks return the error of the failed update, and that its step is not
// committed.
void ExpectUpdateRejected(const Config& config, RunOptions how, size_t steps_before,
                          const ::testing::Matcher<const std::string&>& message) {
  for (const int ranks : {1, 3}) {
    how.ranks = ranks;
    Outcome outcome;
    RunLearner(config, how, &outcome).IgnoreError();
    EXPECT_EQ(outcome.sink.records.size(), steps_before);
    EXPECT_TRUE(outcome.sink.checkpoint.empty());
    for (const absl::Status& status : outcome.status_R) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, message)) << ranks;
    }
  }
}

TEST(LearnerGuardsTest, RejectAnUpdateToWeightsOutOfBounds) {
  Config config = testing::SmallRun();
  config.optimizer.learning_rate = 1e38;
  ExpectUpdateRejected(
      config, {}, 3,
      AllOf(HasSubstr("step 1: "), HasSubstr("the update makes element 0 of model.embed_tokens.weight "),
            HasSubstr(", so this step is discarded: lower optimizer.learning_rate (1e+38 in this "
                      "step), or raise optimizer.epsilon (1e-08)")));
  config.sft.learning_rate = 1e38;
  config.sft.steps = 1;  // the failing step is the run's last one
  config.run.steps = 0;
  ExpectUpdateRejected(config, {}, 0, AllOf(HasSubstr("SFT step 1: "), HasSubstr("lower sft.learning_rate (1e+38")));
}

// If a gradient is 0, like that of an expert that is never chosen, the update divides 0 by epsilon.
TEST(LearnerGuardsTest, RejectAnUpdateWithAnEpsilonThatRoundsToZero) {
  Config config = testing::SmallRun();
  config.optimizer.epsilon = 1e-46;
  SelectPreset("ppo", &config.algorithm);
  config.algorithm.has_value_network = true;
  ExpectUpdateRejected(config, {}, 0,
                       AllOf(HasSubstr("SFT step 1: "), HasSubstr("the update makes element "), HasSubstr("nan")));
}

// Uses the embedding of a token that no answer contains: nothing reads it. Only weight decay changes it, on its owner
// only.
TEST(LearnerGuardsTest, ReportOnAllRanksAnInvalidWeightThatOneOfThemComputes) {
  constexpr int64_t kToken = 7;
  const auto spoil = [](int, Phase, int64_t step, models::Model& model, Episodes&) {
    const models::DecoderLayout& layout = model.layout();
    const int64_t at = layout.specs[layout.embedding].offset + kToken * 32;
    if (step == 2) model.mutable_parameters()[at] = 9.9999e17f;
  };
  Config config = testing::SmallRun();
  config.optimizer.weight_decay = -1;
  ExpectUpdateRejected(
      config, {.spoil = spoil}, 1,
      AllOf(HasSubstr("SFT step 2: "), HasSubstr("the update makes element 224 of model.embed_tokens.weight 1.")));
}

TEST(LearnerGuardsTest, RejectAModelThatCannotLearnFromItsAdvantages) {
  Config config = TrainingOnly();
  config.model.initializer_range = 0;
  const RewardFunction reward = [](const Completion& completion) {
    return static_cast<double>(completion.text.size());
  };
  ExpectRefused(config, {.reward = reward},
                HasSubstr("step 1: the gradient is 0 everywhere although episodes have advantages"));
}

TEST(LearnerGuardsTest, AllowAGradientOfZeroWhereNoCompletionHasAnAdvantage) {
  Config config = TrainingOnly();
  config.model.router_aux_loss_coef = 0;
  Outcome outcome;
  EXPECT_OK(RunLearner(config, {.reward = [](const Completion&) { return 0.5; }}, &outcome));
  ASSERT_EQ(outcome.sink.records.size(), 4u);
  for (const StepRecord& record : outcome.sink.records) EXPECT_EQ(testing::GetMetric(record, "grad_norm"), 0.0);
}

}  // namespace
}  // namespace reprise::rl
