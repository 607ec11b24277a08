// Tests of evaluations within a run: what they record, that they change nothing else, when they end the run, and which
// of their data a resumed run needs.

#include <cmath>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::GetMetric;
using testing::Outcome;
using testing::RunLearner;
using testing::SmallRun;

constexpr size_t kSft = 3;

// The best of the four evaluations is not the last one: see TheBestEvaluationIsNotTheLast.
Config RunWithEvaluations() {
  Config config = SmallRun();
  config.optimizer.learning_rate = 3e-3;
  config.evaluation.every = 1;
  config.evaluation.num_prompts = 13;
  config.evaluation.num_generations = 4;
  config.evaluation.metric_for_best_model = "eval_reward";
  return config;
}

Config RunThatIsEvaluatedOnStartToo() {
  Config config = RunWithEvaluations();
  config.evaluation.on_start = true;
  return config;
}

Outcome RunAll(const Config& config, int ranks = 1) {
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
  return outcome;
}

TEST(LearnerEvaluationTest, EveryKthTrainingStepHasEvaluationMetrics) {
  Config config = RunWithEvaluations();
  config.evaluation.every = 2;
  const Outcome outcome = RunAll(config);
  ASSERT_EQ(outcome.sink.records.size(), kSft + 4);
  for (const StepRecord& record : outcome.sink.records) {
    const bool expected = record.phase == Phase::kTraining && record.step % 2 == 0;
    for (const char* name : {"eval_greedy_accuracy", "eval_pass@4", "eval_mean@4_low", "eval_reward", "eval_best"}) {
      EXPECT_EQ(!std::isnan(GetMetric(record, name)), expected) << name << " of step " << record.step;
    }
    EXPECT_TRUE(std::is_sorted(record.metrics.begin(), record.metrics.end()));
  }
}

// Without learning, every evaluation measures the policy from the start of training.
TEST(LearnerEvaluationTest, AnEvaluationOnStartIsAmongTheFirstStepsMetrics) {
  Config config = RunThatIsEvaluatedOnStartToo();
  config.optimizer.learning_rate = 0;
  const Outcome outcome = RunAll(config);
  const StepRecord& first = outcome.sink.records[kSft];
  EXPECT_EQ(GetMetric(first, "eval_start_greedy_reward"), GetMetric(outcome.sink.records.back(), "eval_greedy_reward"));
  EXPECT_NE(GetMetric(first, "eval_start_reward"), GetMetric(first, "eval_reward")) << "equal samples";
  EXPECT_TRUE(std::is_sorted(first.metrics.begin(), first.metrics.end()));
  for (const StepRecord& record : outcome.sink.records) {
    EXPECT_EQ(!std::isnan(GetMetric(record, "eval_start_mean@4_low")), &record == &first);
  }
}

TEST(LearnerEvaluationTest, AnEvaluationOnStartMeasuresTheWeightsBeforeTheFirstStep) {
  const auto start_of = [](const Config& config) {
    return GetMetric(RunAll(config).sink.records[kSft], "eval_start_reward");
  };
  Config config = RunThatIsEvaluatedOnStartToo();
  const double start = start_of(config);
  config.optimizer.learning_rate *= 3;
  EXPECT_EQ(start_of(config), start);
  config.sft.learning_rate *= 3;
  EXPECT_NE(start_of(config), start);
}

TEST(LearnerEvaluationTest, ChangesNothingElse) {
  Config without = RunWithEvaluations();
  without.evaluation = {};
  const Outcome a = RunAll(RunThatIsEvaluatedOnStartToo()), b = RunAll(without);
  ASSERT_EQ(a.sink.records.size(), b.sink.records.size());
  for (size_t i = 0; i < a.sink.records.size(); ++i) {
    StepRecord record = a.sink.records[i];
    record.metrics = b.sink.records[i].metrics;
    EXPECT_FALSE(FirstDivergence(record, b.sink.records[i], {}).has_value());
    EXPECT_EQ(record.weight_digests, b.sink.records[i].weight_digests);
  }
}

TEST(LearnerEvaluationTest, HasTheSameBitsOnAnyRanksThreadsAndSlots) {
  Config config = RunThatIsEvaluatedOnStartToo();
  const Outcome one = RunAll(config);
  for (const int ranks : {2, 3, 8}) ExpectSame(one, RunAll(config, ranks));
  config.execution.threads = 3;
  config.execution.decode_slots = 2;
  ExpectSame(one, RunAll(config, 2));
}

TEST(LearnerEvaluationTest, AReplayComputesTheSameEvaluations) {
  const Config config = RunThatIsEvaluatedOnStartToo();
  const Outcome live = RunAll(config);
  Outcome replayed;
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &live.sink.records}, &replayed));
  ExpectSame(live, replayed);
}

TEST(LearnerEvaluationTest, MultiTurnEpisodesAreEvaluatedToo) {
  Config config = RunWithEvaluations();
  config.environment.name = "number_guess";
  config.environment.largest = 3;
  config.environment.max_turns = 3;
  config.rollout.max_completion_length = 40;
  config.algorithm.reward.functions = "environment";
  config.sft.steps = 40;
  config.sft.learning_rate = 1e-2;
  config.optimizer.learning_rate = 0;
  const Outcome one = RunAll(config);
  // Three random guesses out of three numbers find the number in two of three episodes.
  EXPECT_GT(GetMetric(one.sink.records.back(), "eval_mean@4"), 0.2);
  EXPECT_EQ(GetMetric(one.sink.records.back(), "eval_mean@4"), GetMetric(one.sink.records.back(), "eval_reward"));
  ExpectSame(one, RunAll(config, 3));
}

TEST(LearnerEvaluationTest, TheBestEvaluationIsNotTheLast) {
  const Outcome outcome = RunAll(RunWithEvaluations());
  const double best = GetMetric(outcome.sink.records.back(), "eval_best_step");
  EXPECT_GT(best, 1);
  EXPECT_LT(best, 4);
}

TEST(LearnerEvaluationTest, TheBestModelIsLoadedAtTheEndOnEveryRank) {
  Config config = RunWithEvaluations();
  config.evaluation.load_best_model_at_end = true;
  const Outcome outcome = RunAll(config, 3);
  const auto best = static_cast<size_t>(GetMetric(outcome.sink.records.back(), "eval_best_step"));
  const std::vector<float>& weights = outcome.sink.states[kSft + best - 1].weights;
  for (const Digest& digest : outcome.last_weights_R) EXPECT_EQ(digest, Sha256(AsBytes(absl::MakeConstSpan(weights))));
  EXPECT_EQ(outcome.sink.states.back().best_weights, weights);
  EXPECT_NE(outcome.sink.states.back().weights, weights);
}

TEST(LearnerEvaluationTest, ResumesFromAnyStepToTheSameResult) {
  Config config = RunThatIsEvaluatedOnStartToo();
  config.evaluation.load_best_model_at_end = true;
  const Outcome whole = RunAll(config);
  for (size_t done = 1; done <= whole.sink.records.size(); ++done) {
    SCOPED_TRACE(done);
    Outcome rest;
    rest.sink.keep_states = true;
    ASSERT_OK(
        RunLearner(config, {.ranks = static_cast<int>(done % 4) + 1, .from = &whole.sink.states[done - 1]}, &rest));
    ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done);
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto divergence = FirstDivergence(whole.sink.records[done + i], rest.sink.records[i], {});
      ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
      EXPECT_EQ(whole.sink.states[done + i].best, rest.sink.states[i].best);
      EXPECT_EQ(whole.sink.states[done + i].best_weights, rest.sink.states[i].best_weights);
    }
    EXPECT_EQ(rest.last_weights_R[0], whole.last_weights_R[0]);
  }
}

// Without learning, the greedy answers do not change: the first evaluation is the best one.
Config RunThatLearnsNothing() {
  Config config = RunWithEvaluations();
  config.run.steps = 20;
  config.optimizer.learning_rate = 0;
  config.evaluation.every = 2;
  config.evaluation.metric_for_best_model = "eval_greedy_reward";
  config.evaluation.early_stopping_patience = 2;
  return config;
}

TEST(LearnerEvaluationTest, EarlyStoppingEndsTheRun) {
  Config config = RunThatLearnsNothing();
  config.artifact.digest_every = 0;
  const Outcome outcome = RunAll(config, 2);
  ASSERT_EQ(outcome.sink.records.size(), kSft + 6);  // evaluations of steps 2, 4 and 6
  const StepRecord& last = outcome.sink.records.back();
  EXPECT_EQ(GetMetric(last, "eval_best_step"), 2);
  EXPECT_EQ(GetMetric(last, "eval_no_improvement"), 2);
  EXPECT_FALSE(last.weight_digests.empty()) << "the end of a run is digested";
  EXPECT_FALSE(outcome.sink.checkpoint.empty()) << "and has a checkpoint";
}

// The published run of a constant reward: looked at every 10 steps with a patience of 2, it ends after step 30.
TEST(LearnerEvaluationTest, EarlyStoppingCanFollowTheRewardsOfTraining) {
  Config config = RunThatLearnsNothing();
  config.run.steps = 100;
  config.algorithm.reward.functions = "exact_match";
  config.data.min_length = config.data.max_length = 5;  // which no completion answers by chance
  config.evaluation.every = 10;
  config.evaluation.metric_for_best_model = "reward_moving_average";
  config.evaluation.early_stopping_threshold = 0.001;
  const Outcome outcome = RunAll(config, 2);
  ASSERT_EQ(outcome.sink.records.size(), kSft + 30);
  const StepRecord& last = outcome.sink.records.back();
  EXPECT_EQ(GetMetric(last, "reward_moving_average"), 0);
  EXPECT_EQ(GetMetric(last, "eval_best_step"), 10);
  EXPECT_EQ(GetMetric(last, "eval_no_improvement"), 2);
}

TEST(LearnerEvaluationTest, AMovingAverageIsOfTheLastStepsAlsoAfterResumption) {
  Config config = RunWithEvaluations();
  config.evaluation.metric_for_best_model = "reward_moving_average";
  config.evaluation.reward_window = 2;
  const Outcome whole = RunAll(config, 2);
  const std::vector<StepRecord>& records = whole.sink.records;
  double before = 0;
  for (size_t i = kSft; i < records.size(); ++i) {
    const double reward = GetMetric(records[i], "reward");
    EXPECT_NEAR(GetMetric(records[i], "reward_moving_average"), i == kSft ? reward : (before + reward) / 2, 1e-12);
    before = reward;
  }
  Outcome rest;
  ASSERT_OK(RunLearner(config, {.from = &whole.sink.states[kSft]}, &rest));  // after step 1
  ASSERT_FALSE(rest.sink.records.empty());
  EXPECT_EQ(GetMetric(rest.sink.records[0], "reward_moving_average"),
            GetMetric(records[kSft + 1], "reward_moving_average"));
}

TEST(LearnerEvaluationTest, ARunThatEarlyStoppingEndedIsNotContinued) {
  const Config config = RunThatLearnsNothing();
  const Outcome whole = RunAll(config);
  Outcome rest;
  ASSERT_OK(RunLearner(config, {.from = &whole.sink.states.back()}, &rest));
  EXPECT_TRUE(rest.sink.records.empty());
}

TEST(LearnerEvaluationTest, EveryPartOfTheBestSoFarStateMatters) {
  Config config = RunThatLearnsNothing();
  config.evaluation.early_stopping_threshold = 1e-9;
  const Outcome whole = RunAll(config);
  const auto steps_after = [&](const std::function<void(std::vector<double>&)>& spoil) {
    LearnerState state = whole.sink.states[kSft + 2];  // after step 3
    spoil(state.best);
    Outcome rest;
    EXPECT_OK(RunLearner(config, {.from = &state}, &rest));
    return rest.sink.records;
  };
  EXPECT_EQ(steps_after([](auto&) {}).size(), 3u);
  EXPECT_EQ(GetMetric(steps_after([](auto& best) { best[0] = 1; }).back(), "eval_best_step"), 1);
  EXPECT_EQ(GetMetric(steps_after([](auto& best) { best[1] = 2; }).back(), "eval_best"), 2);
  EXPECT_EQ(steps_after([](auto& best) { best[2] = -1; }).size(), 5u);  // the next one counts
  EXPECT_EQ(steps_after([](auto& best) { best[3] = 1; }).size(), 1u);
}

// At most two turns of three tokens; the observation between them is longer.
Config RunOfTurns() {
  Config config = RunWithEvaluations();
  config.run.steps = 1;
  config.environment.name = "number_guess";
  config.environment.max_turns = 2, config.environment.max_action_length = 3, config.environment.largest = 12;
  config.rollout.max_completion_length = 26;
  config.algorithm.reward.functions = "environment";
  return config;
}

TEST(LearnerEvaluationTest, LengthsCountOnlyThePolicysTokens) {
  const StepRecord record = RunAll(RunOfTurns()).sink.records.back();
  EXPECT_GT(GetMetric(record, "observations/mean_length"), 0);
  EXPECT_LE(GetMetric(record, "eval_completions/mean_length"), 2 * 3);
}

// environment.turn_reward does not affect whether an answer is correct.
TEST(LearnerEvaluationTest, OnlyTheEnvironmentsRewardDecidesWhetherAnEpisodeIsCorrect) {
  Config config = RunOfTurns();
  config.environment.turn_reward = 1;
  const StepRecord record = RunAll(config).sink.records.back();
  EXPECT_GE(GetMetric(record, "eval_reward"), 1);
  EXPECT_LT(GetMetric(record, "eval_greedy_accuracy"), 1);
  EXPECT_LT(GetMetric(record, "eval_pass@1"), 1);
}

}  // namespace
}  // namespace reprise::rl
