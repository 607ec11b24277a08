#include "rl/workloads/quiet_star/thought_evaluation.h"

#include <cmath>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "rl/workloads/quiet_star/thought_metrics.h"
#include "rl/workloads/quiet_star/thought_record.h"

namespace reprise::rl {
namespace {

std::map<std::string, double> ToMap(const Metrics& metrics) { return {metrics.begin(), metrics.end()}; }

TEST(HeldOutThoughtsTest, CompareThinkingWithNotThinking) {
  const Prediction without = {.tokens = 2, .correct = 1, .logprob = -3}, right = {2, 2, -1}, half = {2, 1, -2};
  const HeldOutThoughts text = SummarizeHeldOut(7, without, right, {{right, half}}, 9);
  EXPECT_EQ(text.score.prompt, 7);
  EXPECT_EQ(text.score.greedy_correct, 1);
  EXPECT_EQ(text.score.greedy_reward, 2);
  EXPECT_EQ(text.score.correct, 1);
  EXPECT_EQ(text.score.reward, 1.5);
  EXPECT_EQ(text.score.tokens, 9);
  EXPECT_EQ(text.accuracy, 0.75);
  EXPECT_EQ(text.accuracy_without, 0.5);
  EXPECT_EQ(text.loss, 0.75);
  EXPECT_EQ(text.loss_without, 1.5);
  const HeldOutThoughts greedy = SummarizeHeldOut(7, without, right, {}, 0);
  EXPECT_EQ(greedy.accuracy, 1);
  EXPECT_EQ(greedy.loss, 0.5);
}

TEST(HeldOutThoughtsTest, MetricsHaveAnIntervalOfTheGain) {
  std::vector<HeldOutThoughts> texts(50);
  for (size_t p = 0; p < texts.size(); ++p) {
    texts[p].score.prompt = static_cast<int64_t>(p);
    texts[p].accuracy = p % 2 == 0 ? 1 : 0.5;
    texts[p].accuracy_without = 0.25;
  }
  const std::map<std::string, double> metrics = ToMap(HeldOutMetrics(texts, 0));
  EXPECT_EQ(metrics.at("eval_thoughts/accuracy"), 0.75);
  EXPECT_EQ(metrics.at("eval_thoughts/accuracy_without"), 0.25);
  EXPECT_EQ(metrics.at("eval_thoughts/gain"), 0.5);
  EXPECT_LT(metrics.at("eval_thoughts/gain_low"), 0.5);
  EXPECT_GT(metrics.at("eval_thoughts/gain_low"), 0.3);
  EXPECT_GT(metrics.at("eval_thoughts/gain_high"), 0.5);
  EXPECT_LT(metrics.at("eval_thoughts/gain_high"), 0.7);
  // Thoughts that change nothing have an interval around 0.
  for (HeldOutThoughts& text : texts) text.accuracy = text.accuracy_without;
  const std::map<std::string, double> none = ToMap(HeldOutMetrics(texts, 0));
  EXPECT_LT(none.at("eval_thoughts/gain_low"), 0);
  EXPECT_GT(none.at("eval_thoughts/gain_high"), 0);
}

TEST(CoherenceTest, IsTheGeometricMeanOfProbabilities) {
  const std::vector<float> logprobs = {-1.0f, -2.0f};
  EXPECT_NEAR(CoherenceOf(logprobs), std::exp(-1.5), 1e-12);
}

StepRecord TwoThoughts() {
  StepRecord record;
  record.step = 3;
  record.task_P.emplace_back().content = TextToThinkAbout{{1, 2, 3, 4}, {}};
  EpisodeRecord& episode = record.episode_N.emplace_back(ThoughtEpisode(record.task_P[0], 0, {{0, {5}}, {1, {6, 7}}}));
  episode.logprobs = {0.0f, -1.0f, -3.0f};
  episode.earned_T = {0.5, 0, -0.25};
  episode.advantage = 0.75;
  return record;
}

TEST(ThoughtMetricsTest, AreMeansOverThoughts) {
  Metrics added;
  AddThoughtMetrics(TwoThoughts(), &added);
  const std::map<std::string, double> metrics = ToMap(added);
  EXPECT_EQ(metrics.at("thoughts/mean_length"), 1.5);
  EXPECT_EQ(metrics.at("thoughts/positions"), 2);
  EXPECT_EQ(metrics.at("thoughts/reward"), 0.125);
  EXPECT_EQ(metrics.at("thoughts/rewarded"), 0.5);
  EXPECT_NEAR(metrics.at("thoughts/coherence"), (1 + std::exp(-2.0)) / 2, 1e-12);
}

TEST(ThoughtMetricsTest, TheLossIncludesTheCrossEntropiesOfTheTexts) {
  Metrics all = {{"loss", 0.125}, {"loss/total", 0.125}, {"loss/policy_avg", 0.125}, {"mixed_nll", 2}, {"text_nll", 4}};
  QuietStarConfig config;
  config.base_weight = 0.5;
  config.talk_weight = 0.25;
  AddTextLosses(config, &all);
  const std::map<std::string, double> metrics = ToMap(all);
  EXPECT_EQ(metrics.at("loss"), 2.625);
  EXPECT_EQ(metrics.at("loss/total"), 2.625);
  EXPECT_EQ(metrics.at("loss/policy_avg"), 0.125);
  // Without a value function the policy's loss has no metric of its own.
  AddPaperMetrics({}, TwoThoughts(), /*policy_loss=*/0.125, &all);
  EXPECT_EQ(ToMap(all).at("rl/total_loss"), 2.625);
  Metrics without_values = {{"loss", 2.625}};
  AddPaperMetrics({}, TwoThoughts(), /*policy_loss=*/0.5, &without_values);
  EXPECT_EQ(ToMap(without_values).at("rl/policy_loss"), 0.5);
}

TEST(PaperMetricsTest, AreThirteenUnderTheirNames) {
  Metrics all = {{"reward", 0.25},
                 {"reward_moving_average", 0.5},
                 {"loss/policy_avg", 1.0},
                 {"loss/value_avg", 2.0},
                 {"entropy", 3.0},
                 {"kl", 4.0},
                 {"loss", 5.0},
                 {"thoughts/positions", 6.0},
                 {"thoughts/coherence", 7.0},
                 {"learning_rate", 8.0}};
  const size_t others = all.size();
  AlgorithmConfig algorithm;
  algorithm.entropy = {.entropy_coef = 0.5, .decay = 0.5, .floor = 0.1};
  AddPaperMetrics(algorithm, TwoThoughts(), /*policy_loss=*/-1.0, &all);
  EXPECT_EQ(all.size() - others, 13u);
  const std::map<std::string, double> metrics = ToMap(all);
  EXPECT_EQ(metrics.at("rl/episode"), 3);
  EXPECT_EQ(metrics.at("rl/reward"), 0.25);
  EXPECT_EQ(metrics.at("rl/avg_reward_100"), 0.5);
  EXPECT_EQ(metrics.at("rl/policy_loss"), 1);
  EXPECT_EQ(metrics.at("rl/value_loss"), 2);
  EXPECT_EQ(metrics.at("rl/entropy"), 3);
  EXPECT_EQ(metrics.at("rl/entropy_coefficient"), 0.1);  // after three decays; before the third it was 0.125
  EXPECT_EQ(metrics.at("rl/advantages"), 0.75);
  EXPECT_EQ(metrics.at("rl/kl_divergence"), 4);
  EXPECT_EQ(metrics.at("rl/total_loss"), 5);
  EXPECT_EQ(metrics.at("rl/num_thoughts"), 6);
  EXPECT_EQ(metrics.at("rl/coherence"), 7);
  EXPECT_EQ(metrics.at("rl/learning_rate"), 8);
}

}  // namespace
}  // namespace reprise::rl
