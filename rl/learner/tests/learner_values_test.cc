// Tests of runs with a value function: a head on the policy's hidden states, or a network of its own.

#include <algorithm>
#include <cmath>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using testing::ExpectSame;
using testing::GetMetric;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLearner;

Config RunOf(const std::string& value_model) {
  Config config = testing::SmallRun();
  SelectPreset("ppo", &config.algorithm);
  config.algorithm.has_value_network = value_model == "network";
  return config;
}

class LearnerValuesTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(HeadOrNetwork, LearnerValuesTest, ::testing::Values("head", "network"),
                         [](const auto& info) { return info.param; });

TEST_P(LearnerValuesTest, GiveTheSameRecordsOnAnyRanksThreadsAndBatches) {
  Config config = RunOf(GetParam());
  config.algorithm.update.num_mini_batches = 3;
  Outcome alone, shared, cut;
  ASSERT_OK(RunLearner(config, {}, &alone));
  ASSERT_OK(RunLearner(config, {.ranks = 5}, &shared));
  ExpectSame(alone, shared);
  config.execution.threads = 3, config.execution.micro_batch_tokens = 9;
  config.execution.activation_checkpointing = true;
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &cut));
  ExpectSame(alone, cut);
  EXPECT_GT(cut.counts.cut_groups, 0);
}

TEST_P(LearnerValuesTest, GiveTheSameRecordsWhetherOrNotTheExchangeOverlapsTheBackwardPass) {
  Config config = RunOf(GetParam());
  config.run.steps = 2;
  config.execution.exchange_floats = 1024;
  Outcome alone;
  ASSERT_OK(RunLearner(config, {}, &alone));
  for (const bool overlap : {true, false}) {
    for (const int ranks : {2, 3, 4}) {
      config.execution.overlap = overlap;
      config.execution.threads = ranks == 3 ? 2 : 1;
      config.execution.micro_batch_tokens = ranks == 4 ? 9 : 0;
      Outcome outcome;
      ASSERT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
      ExpectSame(alone, outcome);
      EXPECT_EQ(outcome.counts.exchange.early_buckets > 0, overlap);
    }
  }
}

// The value function's gradients are exchanged first: if they were final last, no bucket would be sent early.
TEST_P(LearnerValuesTest, AreSentWhileTheRankStillComputes) {
  Config config = RunOf(GetParam());
  config.sft.steps = 0;
  config.execution.exchange_floats = 1024;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.ranks = 2}, &outcome));
  EXPECT_GT(outcome.counts.exchange.early_buckets, 0);
}

TEST_P(LearnerValuesTest, ResumeFromEveryStepOnAnotherNumberOfRanks) {
  const Config config = RunOf(GetParam());
  Outcome whole;
  whole.sink.keep_states = true;
  ASSERT_OK(RunLearner(config, {}, &whole));
  for (size_t done = 1; done <= whole.sink.states.size(); ++done) {
    SCOPED_TRACE(done);
    Outcome rest;
    ASSERT_OK(
        RunLearner(config, {.ranks = static_cast<int>(done % 4) + 1, .from = &whole.sink.states[done - 1]}, &rest));
    ASSERT_EQ(rest.sink.records.size() + done, whole.sink.records.size());
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto divergence = FirstDivergence(whole.sink.records[done + i], rest.sink.records[i], {});
      ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
    }
    EXPECT_EQ(rest.last_weights_R[0], whole.last_weights_R[0]);
  }
}

// The SFT phase does not train values; training changes every tensor.
TEST_P(LearnerValuesTest, AreTrainedOnlyInTraining) {
  Outcome outcome;
  ASSERT_OK(RunLearner(RunOf(GetParam()), {}, &outcome));
  const std::vector<StepRecord>& records = outcome.sink.records;
  const size_t tensors = records[0].weight_digests.size();
  Config plain = RunOf(GetParam());
  SelectPreset("grpo", &plain.algorithm), plain.algorithm.has_value_network = false;
  Outcome without;
  ASSERT_OK(RunLearner(plain, {}, &without));
  const size_t policy = without.sink.records[0].weight_digests.size();
  EXPECT_EQ(tensors, GetParam() == "head" ? policy + 2 : 2 * policy + 1);  // the network has no lm-head
  for (size_t i = 0; i < tensors; ++i) {
    if (i < policy) {
      EXPECT_EQ(records[2].weight_digests[i], without.sink.records[2].weight_digests[i]);
    } else {
      EXPECT_EQ(records[0].weight_digests[i], records[2].weight_digests[i]);
    }
    EXPECT_NE(records[2].weight_digests[i], records[6].weight_digests[i]) << i;
  }
}

TEST_P(LearnerValuesTest, LearnToPredictReturns) {
  Config config = RunOf(GetParam());
  config.run.steps = 30;
  SetBeta(0, &config.algorithm), config.algorithm.value.vf_coef = 1,
                                 config.algorithm.value.cliprange_value = std::nullopt;
  config.algorithm.update.num_iterations = 4;
  config.algorithm.advantage.bootstrap_truncated =
      false;  // returns that contain a value are predicted from the first step on
  config.optimizer.learning_rate = 3e-3, config.optimizer.schedule = Schedule::kConstant;
  // Half of the tasks have a large reward, whatever the policy does; the prompt determines which.
  const RewardFunction reward = [](const Completion& completion) { return completion.answer.size() > 2 ? 1.0 : -1.0; };
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.reward = reward}, &outcome));
  const StepRecord &first = outcome.sink.records[3], &last = outcome.sink.records.back();
  EXPECT_LT(GetMetric(first, "critic/vf_explained_var"), 0.2);
  EXPECT_GT(GetMetric(last, "critic/vf_explained_var"), 0.5);
  EXPECT_NEAR(GetMetric(last, "loss"), GetMetric(last, "loss/policy_avg") + GetMetric(last, "loss/value_avg"), 1e-12);
}

TEST_P(LearnerValuesTest, RejectAValueThatIsNotFinite) {
  Config config = RunOf(GetParam());
  config.sft.steps = 0;
  const auto spoil = [](int, Phase, int64_t, models::Model& model, Episodes&) {
    const size_t bias = static_cast<size_t>(model.layout().value.bias);
    model.mutable_parameters()[model.layout().specs[bias].offset] = INFINITY;
  };
  Outcome outcome;
  EXPECT_THAT(RunLearner(config, {.ranks = 2, .spoil = spoil}, &outcome),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("step 1: rank 0: prompt 0 sample 0: ")));
  EXPECT_TRUE(outcome.sink.records.empty());
}

TEST_P(LearnerValuesTest, NeedOnlyOneCompletionPerPrompt) {
  Config config = RunOf(GetParam());
  config.rollout.num_generations = 1;
  Outcome alone, shared;
  ASSERT_OK(RunLearner(config, {}, &alone));
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
  ExpectSame(alone, shared);
  for (const auto& [name, value] : alone.sink.records.back().metrics) EXPECT_TRUE(std::isfinite(value)) << name;
}

// All completions have one token and are truncated; gamma and lambda are 1: return = reward + value after the token.
// That value is the second one of completions of two tokens with the same first token.
TEST_P(LearnerValuesTest, BootstrapFromTheStateAtWhichACompletionWasTruncated) {
  Config config = RunOf(GetParam());
  config.run.steps = 1;
  config.rollout.min_new_tokens = 2;
  SetBeta(0, &config.algorithm), config.algorithm.advantage.lambda = 1;
  const RewardFunction reward = [](const Completion&) { return 0.5; };
  const auto first = [&](int64_t length, bool bootstrap) {
    config.rollout.max_completion_length = length;
    config.algorithm.advantage.bootstrap_truncated = bootstrap;
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {.reward = reward}, &outcome));
    return outcome.sink.records.back();
  };
  const StepRecord one = first(1, true), two = first(2, true), ends = first(1, false);
  for (size_t n = 0; n < one.episode_N.size(); ++n) {
    ASSERT_EQ(CompletionOf(one.episode_N[n]).tokens[0], CompletionOf(two.episode_N[n]).tokens[0]);
  }
  const double before = GetMetric(one, "critic/values/mean"), both = GetMetric(two, "critic/values/mean");
  const double after = 2 * both - before;
  EXPECT_GT(std::fabs(after), 1e-3);
  EXPECT_NEAR(GetMetric(one, "critic/returns/mean"), 0.5 + after, 1e-6);
  EXPECT_NEAR(GetMetric(ends, "critic/returns/mean"), 0.5, 1e-12);
}

TEST_P(LearnerValuesTest, BootstrapWithTheSameBitsOnAnyRanksAndBatches) {
  Config config = RunOf(GetParam());
  config.rollout.max_completion_length = 2;  // most are truncated
  Outcome alone, cut;
  ASSERT_OK(RunLearner(config, {}, &alone));
  config.execution.threads = 2, config.execution.micro_batch_tokens = 5;
  ASSERT_OK(RunLearner(config, {.ranks = 3, .replay = &alone.sink.records}, &cut));
  ExpectSame(alone, cut);
}

// Returns whether the value loss changes the policy's gradient of a step.
bool PolicyKnowsOfValues(const std::string& value_model) {
  Outcome outcomes[2];
  for (const double vf_coef : {0.1, 0.5}) {
    Config config = RunOf(value_model);
    config.run.steps = 1, config.algorithm.update.num_iterations = 1, config.algorithm.value.vf_coef = vf_coef;
    config.optimizer.max_grad_norm = 0;
    Outcome& outcome = outcomes[vf_coef == 0.1 ? 0 : 1];
    EXPECT_OK(RunLearner(config, {}, &outcome));
  }
  return outcomes[0].sink.records.back().gradient_digests[1] != outcomes[1].sink.records.back().gradient_digests[1];
}

TEST(LearnerValuesOnceTest, AHeadTrainsThePolicysDecoderAndANetworkDoesNot) {
  EXPECT_TRUE(PolicyKnowsOfValues("head"));
  EXPECT_FALSE(PolicyKnowsOfValues("network"));
}

TEST(LearnerValuesOnceTest, EveryChoiceOfValuesChangesWhatIsLearned) {
  const auto weights = [](const std::function<void(AlgorithmConfig&)>& choose) {
    Config config = RunOf("head");
    config.run.steps = 2, config.optimizer.learning_rate = 0.02;
    choose(config.algorithm);
    Outcome outcome;
    EXPECT_OK(RunLearner(config, {}, &outcome));
    return outcome.last_weights_R[0];
  };
  std::vector<Digest> seen = {weights([](AlgorithmConfig&) {})};
  for (const auto& choose : std::vector<std::function<void(AlgorithmConfig&)>>{
           [](AlgorithmConfig& a) { a.has_value_network = true; }, [](AlgorithmConfig& a) { a.advantage.lambda = 0.5; },
           [](AlgorithmConfig& a) { a.advantage.gamma = 0.9; }, [](AlgorithmConfig& a) { a.value.vf_coef = 1; },
           [](AlgorithmConfig& a) { a.value.cliprange_value = 0.01; },
           [](AlgorithmConfig& a) { a.advantage.whiten_rewards = true; },
           [](AlgorithmConfig& a) { a.advantage.whiten_tokens = false; },
           [](AlgorithmConfig& a) { a.advantage.bootstrap_truncated = false; }}) {
    const Digest digest = weights(choose);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), digest), 0) << seen.size();
    seen.push_back(digest);
  }
}

}  // namespace
}  // namespace reprise::rl
