// Tests of steps and evaluations in which no function could score anything: they have no reward, which is not a reward
// of 0, so they are no candidates for the best weights, and early stopping does not count them.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

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

constexpr size_t kSft = 3;

// External processes whose rewards at step s, also in its evaluation, are -s, but null at step 3; and null always.
constexpr char kNullAtStep3[] = R"(sed -u -E -e 's/.*"id":([0-9]+).*"step":3,.*/{"id":\1,"reward":null}/' )"
                                R"(-e 's/.*"id":([0-9]+).*"step":([0-9]+).*/{"id":\1,"reward":-\2}/')";
constexpr char kNullAlways[] = R"(sed -u -E 's/.*"id":([0-9]+).*/{"id":\1,"reward":null}/')";

Config ScoredRun(const std::string& metric) {
  Config config = testing::SmallRun();
  config.run.steps = 6;
  config.algorithm.reward.functions = "process";
  config.algorithm.advantage.scale_rewards = ScaleRewards::kNone;
  config.algorithm.update.num_iterations = 1;
  config.process.command = kNullAtStep3;
  config.evaluation.every = 1;
  config.evaluation.num_prompts = 5;
  config.evaluation.num_generations = 2;
  config.evaluation.metric_for_best_model = metric;
  config.evaluation.correct_reward = 1;  // else a program's rewards define no accuracy
  return config;
}

Outcome RunAll(const Config& config, int ranks = 1) {
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
  return outcome;
}

const StepRecord& TrainingRecord(const Outcome& outcome, size_t step) {
  return outcome.sink.records.at(kSft + step - 1);
}

TEST(LearnerUnscoredTest, AnEvaluationInWhichNothingWasScoredHasNoRewardAndIsNotTheBest) {
  for (const char* metric : {"eval_reward", "eval_greedy_reward"}) {
    SCOPED_TRACE(metric);
    const Outcome outcome = RunAll(ScoredRun(metric), 2);
    ASSERT_EQ(outcome.sink.records.size(), kSft + 6);
    EXPECT_EQ(GetMetric(TrainingRecord(outcome, 2), metric), -2);
    EXPECT_EQ(GetMetric(TrainingRecord(outcome, 3), "frac_unscorable"), 1);
    EXPECT_TRUE(std::isnan(GetMetric(TrainingRecord(outcome, 3), metric))) << "it is not reported";
    EXPECT_FALSE(std::isnan(GetMetric(TrainingRecord(outcome, 3), "eval_greedy_accuracy")));
    for (size_t step = 1; step <= 6; ++step) {
      EXPECT_EQ(GetMetric(TrainingRecord(outcome, step), "eval_best"), -1);
      EXPECT_EQ(GetMetric(TrainingRecord(outcome, step), "eval_best_step"), 1);
    }
  }
}

TEST(LearnerUnscoredTest, PatienceCountsItNeitherAsAnImprovementNorAsNone) {
  Config config = ScoredRun("eval_reward");
  config.evaluation.early_stopping_patience = 2;
  const Outcome outcome = RunAll(config);
  ASSERT_EQ(outcome.sink.records.size(), kSft + 4) << "the steps 2 and 4 did not improve";
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 2), "eval_no_improvement"), 1);
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 3), "eval_no_improvement"), 1);
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 4), "eval_no_improvement"), 2);
}

TEST(LearnerUnscoredTest, AMovingAverageIsOverTheStepsOfItsWindowThatHaveAReward) {
  Config config = ScoredRun("reward_moving_average");
  config.evaluation.reward_window = 2;
  const Outcome outcome = RunAll(config, 3);
  const std::vector<double> expected = {-1, -1.5, -2, -4, -4.5, -5.5};
  for (size_t step = 1; step <= 6; ++step) {
    EXPECT_EQ(GetMetric(TrainingRecord(outcome, step), "reward_moving_average"), expected[step - 1]) << step;
  }
}

TEST(LearnerUnscoredTest, AWindowWithoutAnyRewardHasNoAverageAndIsNotTheBest) {
  Config config = ScoredRun("reward_moving_average");
  config.evaluation.reward_window = 1;
  const Outcome outcome = RunAll(config);
  EXPECT_TRUE(std::isnan(GetMetric(TrainingRecord(outcome, 3), "reward_moving_average")));
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 3), "eval_no_improvement"), 1);
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 6), "eval_best"), -1);
  EXPECT_EQ(GetMetric(TrainingRecord(outcome, 6), "eval_best_step"), 1);
}

TEST(LearnerUnscoredTest, WhereNothingIsEverScoredThereIsNoBestAndNoEarlyEnd) {
  for (const char* metric : {"eval_reward", "reward_moving_average"}) {
    SCOPED_TRACE(metric);
    Config config = ScoredRun(metric);
    config.process.command = kNullAlways;
    config.evaluation.early_stopping_patience = 1;
    config.evaluation.load_best_model_at_end = true;
    const Outcome outcome = RunAll(config);
    ASSERT_EQ(outcome.sink.records.size(), kSft + 6);
    for (const char* name : {"eval_best", "eval_best_step", "eval_no_improvement"}) {
      EXPECT_TRUE(std::isnan(GetMetric(TrainingRecord(outcome, 6), name))) << name;
    }
    EXPECT_TRUE(outcome.sink.states.back().best.empty());
    EXPECT_TRUE(outcome.sink.states.back().best_weights.empty());
  }
}

TEST(LearnerUnscoredTest, AReplayAndAResumedRunDecideTheSame) {
  for (const char* metric : {"eval_reward", "reward_moving_average"}) {
    SCOPED_TRACE(metric);
    Config config = ScoredRun(metric);
    config.evaluation.reward_window = 2;
    config.evaluation.early_stopping_patience = 4;
    const Outcome whole = RunAll(config);
    for (size_t done = kSft + 1; done <= whole.sink.records.size(); ++done) {
      SCOPED_TRACE(done);
      Outcome rest;
      ASSERT_OK(RunLearner(config, {.ranks = 2, .from = &whole.sink.states[done - 1]}, &rest));
      ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done);
      for (size_t i = 0; i < rest.sink.records.size(); ++i) {
        const auto divergence = FirstDivergence(whole.sink.records[done + i], rest.sink.records[i], {});
        EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
      }
    }
    Outcome replayed;
    config.process.command = "exit 3";
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &whole.sink.records}, &replayed));
    ExpectSame(whole, replayed);
  }
}

}  // namespace
}  // namespace reprise::rl
