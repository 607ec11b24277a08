// Tests of completions that the loss leaves out, by mask_truncated_completions or dynamic_sampling or because no
// function could score them: nothing that is computed over tokens includes them, and a step or minibatch of only such
// completions changes nothing.

#include <algorithm>
#include <cmath>
#include <functional>

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

using IsCut = std::function<bool(int64_t step, const EpisodeRecord& episode)>;

// A run whose completions are marked as truncated by `is_cut`, whatever was sampled.
Outcome RunCut(const Config& config, const IsCut& is_cut, int ranks = 1) {
  RunOptions how;
  how.ranks = ranks;
  how.reward = [](const Completion& completion) {
    int64_t sum = 0;
    for (const char c : completion.text) sum += c;
    return static_cast<double>(sum % 5);
  };
  how.spoil = [&is_cut](int, Phase phase, int64_t step, models::Model&, Episodes& episodes) {
    if (phase == Phase::kSft) return;
    for (EpisodeRecord& episode : episodes.episode_N) episode.terminated = !is_cut(step, episode);
  };
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, how, &outcome));
  return outcome;
}

bool All(int64_t, const EpisodeRecord&) { return true; }
bool Half(int64_t, const EpisodeRecord& episode) { return episode.sample % 2 == 1; }
bool AllOfSecondStep(int64_t step, const EpisodeRecord&) { return step == 2; }

Config MaskedRun(const std::string& algorithm) {
  Config config = testing::SmallRun();
  config.sft.steps = 0;
  config.run.steps = 2;
  SelectPreset(algorithm, &config.algorithm);
  config.algorithm.update.num_iterations = 1;
  config.algorithm.mask_truncated_completions = true;
  config.algorithm.episode_metrics = true;
  config.model.router_aux_loss_coef = 0.1;
  config.optimizer.learning_rate = 1e-2;
  config.optimizer.weight_decay = 0.1;
  return config;
}

// Whitened advantages have mean 0, and so has the policy's loss where all ratios are 1.
TEST(LearnerMasksTest, TheFirstLossOfWhitenedAdvantagesIsZeroWhicheverCompletionsAreLearned) {
  for (const char* algorithm : {"ppo", "reinforce_plus_plus"}) {
    SCOPED_TRACE(algorithm);
    const Outcome outcome = RunCut(MaskedRun(algorithm), Half);
    const StepRecord& record = outcome.sink.records[0];
    EXPECT_NEAR(GetMetric(record, "loss/policy_gradient"), 0, 1e-12);
    EXPECT_GT(GetMetric(record, "grad_norm"), 0);
    EXPECT_EQ(record.episode_N[1].advantage, 0);
    EXPECT_NE(record.episode_N[2].advantage, 0);
  }
}

TEST(LearnerMasksTest, ImportanceWeightsAreAveragedOverLearnedTokens) {
  Config config = MaskedRun("grpo");
  config.algorithm.correction.mode = ImportanceMode::kTokenTruncate;
  for (const IsCut& is_cut : {IsCut(Half), IsCut(All), IsCut(AllOfSecondStep)}) {
    for (const StepRecord& record : RunCut(config, is_cut, 2).sink.records) {
      EXPECT_EQ(GetMetric(record, "sampling/importance_sampling_ratio/mean"), 1);
    }
  }
}

// Follows a step that has left moments, with weight decay and load balancing of routers.
TEST(LearnerMasksTest, AStepWithoutLearnedTokensChangesNothing) {
  for (const char* algorithm : {"grpo", "rloo", "ppo"}) {
    SCOPED_TRACE(algorithm);
    const Outcome outcome = RunCut(MaskedRun(algorithm), AllOfSecondStep);
    const std::vector<LearnerState>& states = outcome.sink.states;
    ASSERT_EQ(states.size(), 2u);
    EXPECT_EQ(states[0].updates, 1);
    EXPECT_EQ(states[1].updates, 1);
    EXPECT_EQ(states[0].weights, states[1].weights);
    for (size_t i = 0; i < states[0].optimizer.size(); ++i) {
      EXPECT_EQ(states[0].optimizer[i].values, states[1].optimizer[i].values) << states[0].optimizer[i].name;
    }
    EXPECT_GT(GetMetric(outcome.sink.records[0], "grad_norm"), 0);
    EXPECT_EQ(GetMetric(outcome.sink.records[1], "grad_norm"), 0);
    ExpectSame(outcome, RunCut(MaskedRun(algorithm), AllOfSecondStep, 2));
  }
}

TEST(LearnerMasksTest, AMinibatchWithoutLearnedTokensMakesNoUpdate) {
  Config config = MaskedRun("grpo");
  config.algorithm.update.num_mini_batches = 11;
  const IsCut all_but_three = [](int64_t, const EpisodeRecord& episode) { return episode.prompt >= 3; };
  const Outcome outcome = RunCut(config, all_but_three);
  EXPECT_EQ(outcome.sink.states[0].updates, 3);
  EXPECT_EQ(outcome.sink.states[1].updates, 6);
  ExpectSame(outcome, RunCut(config, all_but_three, 3));
}

// The seed determines which minibatch comes last: in most of these steps it has no learned tokens.
TEST(LearnerMasksTest, TheGradientNormIsOfTheLastMinibatchWithLearnedTokens) {
  Config config = MaskedRun("grpo");
  config.run.steps = 4;
  config.algorithm.update.num_mini_batches = 11;
  const IsCut all_but_two = [](int64_t, const EpisodeRecord& episode) { return episode.prompt >= 2; };
  for (const StepRecord& record : RunCut(config, all_but_two).sink.records) {
    EXPECT_GT(GetMetric(record, "grad_norm"), 0) << record.step;
  }
}

// TRL's RLOOTrainer sums the divergence over tokens that its mask keeps. By step 2 the policy differs from the
// reference.
TEST(LearnerMasksTest, NoDivergenceIsSubtractedFromTheRewardOfALeftOutCompletion) {
  Config config = MaskedRun("rloo");
  SetBeta(2, &config.algorithm);
  config.optimizer.learning_rate = 0.05;
  const StepRecord record = RunCut(config, Half).sink.records[1];
  double largest = 0;
  for (size_t first = 0; first < record.episode_N.size(); first += 4) {
    double reward_G[4], sum = 0;
    for (size_t g = 0; g < 4; ++g) {
      const EpisodeRecord& episode = record.episode_N[first + g];
      double divergence = 0;
      for (size_t t = 0; t < episode.logprobs.size(); ++t) {
        divergence += static_cast<double>(episode.logprobs[t]) - episode.ref_logprobs[t];
      }
      largest = std::max(largest, std::fabs(divergence));
      reward_G[g] = episode.reward - (episode.terminated ? 2 * divergence : 0);
      sum += reward_G[g];
    }
    for (size_t g = 0; g < 4; ++g) {
      EXPECT_NEAR(record.episode_N[first + g].advantage, reward_G[g] - (sum - reward_G[g]) / 3, 1e-9);
    }
  }
  EXPECT_GT(largest, 0.01);
}

TEST(LearnerMasksTest, GroupsThatDynamicSamplingLeavesOutAffectNoMetricAndNoUpdate) {
  Config config = MaskedRun("grpo");
  config.algorithm.dynamic_sampling = true;
  SetBeta(0.1, &config.algorithm);
  config.optimizer.learning_rate = 0.1;
  const RewardFunction equal = [](const Completion&) { return 0.5; };
  Outcome outcome;
  outcome.sink.keep_states = true;
  ASSERT_OK(RunLearner(config, {.reward = equal}, &outcome));
  for (const char* metric : {"entropy", "kl", "loss", "grad_norm", "log_ratio/abs_max"}) {
    EXPECT_EQ(GetMetric(outcome.sink.records[1], metric), 0) << metric;
  }
  EXPECT_EQ(outcome.sink.states[1].updates, 0);
  EXPECT_EQ(outcome.sink.states[1].weights, outcome.sink.states[0].weights);
}

// In the first step the reference is the policy: the divergence is 0, and the controller's error -1/5.
TEST(LearnerMasksTest, TheKlControllerCountsLearnedCompletions) {
  Config config = MaskedRun("grpo");
  config.run.steps = 3;
  SetBeta(0.1, &config.algorithm), config.algorithm.kl.schedule = KlSchedule::kProportional,
                                   config.algorithm.kl.horizon = 440;
  const IsCut half_then_all = [](int64_t step, const EpisodeRecord& e) { return step == 2 || e.sample % 2 == 1; };
  const Outcome outcome = RunCut(config, half_then_all);
  EXPECT_EQ(GetMetric(outcome.sink.records[0], "kl_coef"), 0.1);
  EXPECT_DOUBLE_EQ(GetMetric(outcome.sink.records[1], "kl_coef"), 0.1 * (1 - 0.2 * 22 / 440));
  EXPECT_EQ(GetMetric(outcome.sink.records[2], "kl_coef"), GetMetric(outcome.sink.records[1], "kl_coef"));
}

// There is one ratio per sequence; masked ones have none. After an update most ratios are outside of the very small
// clipping range.
TEST(LearnerMasksTest, SharesOfClippedSequencesAreOfLearnedSequences) {
  Config config = MaskedRun("gspo");
  config.algorithm.update.num_iterations = 2;
  SetEpsilon(1e-12, &config.algorithm), config.algorithm.loss.epsilon_high = 1e-12;
  const IsCut most = [](int64_t, const EpisodeRecord& e) { return e.prompt > 1; };
  const Outcome with = RunCut(config, most);
  const StepRecord& record = with.sink.records[0];
  int64_t moved = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    moved += !most(1, episode) && episode.advantage != 0 ? 1 : 0;
  }
  const double share = GetMetric(record, "clip_ratio/region_mean");
  EXPECT_GT(share, 0);
  // The share of eight, not of forty-four sequences.
  EXPECT_EQ(share * 8, std::round(share * 8));
  EXPECT_LE(share * 8, static_cast<double>(moved));
}

// An external process that returns the reward s for sample s, none for sample 1, and none for prompt 0.
constexpr char kScorer[] =
    R"(sed -u -E -e '/"prompt":0,"sample"|"sample":1,/{s/.*"id":([0-9]+).*/{"id":\1,"reward":null}/}' )"
    R"(-e 's/.*"id":([0-9]+).*"sample":([0-9]+).*/{"id":\1,"reward":\2}/')";

Config ScoredRun() {
  Config config = testing::SmallRun();
  config.algorithm.reward.functions = "process";
  config.algorithm.advantage.scale_rewards = ScaleRewards::kNone;
  config.algorithm.update.num_iterations = 1;
  config.process.command = kScorer;
  return config;
}

bool IsUnscorable(const EpisodeRecord& episode) { return episode.prompt == 0 || episode.sample == 1; }

TEST(LearnerMasksTest, UnscorableCompletionsAreLeftOutOfBaselinesLossAndStatistics) {
  Outcome outcome;
  ASSERT_OK(RunLearner(ScoredRun(), {}, &outcome));
  const StepRecord& record = outcome.sink.records[3];
  constexpr double kMean = (0.0 + 2.0 + 3.0) / 3;
  double terms = 0, tokens = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    const double expected = static_cast<double>(episode.sample) - kMean;
    if (IsUnscorable(episode)) {
      EXPECT_TRUE(std::isnan(episode.reward) && std::isnan(episode.rewards_F.at(0)));
      EXPECT_EQ(episode.advantage, 0.0);
      continue;
    }
    EXPECT_NEAR(episode.advantage, expected, 1e-15);
    terms -= expected * static_cast<double>(episode.decisions.count);
    tokens += static_cast<double>(episode.decisions.count);
  }
  EXPECT_NEAR(GetMetric(record, "loss"), terms / tokens, 1e-12);  // dapo: only over tokens that count
  EXPECT_NEAR(GetMetric(record, "reward"), kMean, 1e-15);
  EXPECT_NEAR(GetMetric(record, "frac_unscorable"), (10.0 + 4.0) / 44, 1e-15);
  for (const auto& [name, value] : record.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(LearnerMasksTest, UnscorableCompletionsAreReplayedWithoutTheExternalProcess) {
  for (const char* name : {"grpo", "rloo", "ppo", "reinforce_plus_plus", "opo"}) {
    Config config = ScoredRun();
    SelectPreset(name, &config.algorithm);
    config.algorithm.advantage.scale_rewards = AlgorithmConfig().advantage.scale_rewards;
    config.algorithm.episode_metrics = true;
    config.run.steps = 2;
    Outcome alone, shared, replayed;
    ASSERT_OK(RunLearner(config, {}, &alone));
    ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
    ExpectSame(alone, shared);
    for (const auto& [metric, value] : alone.sink.records.back().metrics) EXPECT_TRUE(std::isfinite(value)) << metric;
    config.process.command = "exit 3";
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &replayed));
    ExpectSame(alone, replayed);
  }
}

// One of two functions may still score a completion.
TEST(LearnerMasksTest, ACompletionThatOneFunctionScoredCountsWithThatScore) {
  Config config = ScoredRun();
  config.algorithm.reward.functions = "process character_match";
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  for (const EpisodeRecord& episode : outcome.sink.records[3].episode_N) {
    const double scored = IsUnscorable(episode) ? 0.0 : static_cast<double>(episode.sample);
    EXPECT_EQ(episode.reward, scored + episode.rewards_F.at(1));
  }
  EXPECT_EQ(GetMetric(outcome.sink.records[3], "frac_unscorable"), 0.0);
}

TEST(LearnerMasksTest, EvaluationsIgnoreUnscorableCompletions) {
  Config config = ScoredRun();
  config.run.steps = 1;
  config.evaluation.every = 1;
  config.evaluation.num_prompts = 5;
  config.evaluation.num_generations = 4;
  Outcome outcome, replayed;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  const StepRecord& record = outcome.sink.records.back();
  EXPECT_NEAR(GetMetric(record, "eval_reward"), 5.0 / 3, 1e-15);
  EXPECT_EQ(GetMetric(record, "eval_greedy_reward"), 0.0);
  config.process.command = "exit 3";
  ASSERT_OK(RunLearner(config, {.replay = &outcome.sink.records}, &replayed));
  ExpectSame(outcome, replayed);
}

TEST(LearnerMasksTest, AStepWithoutScorableCompletionsChangesNothing) {
  Config config = ScoredRun();
  config.process.command = R"(sed -u -E 's/.*"id":([0-9]+).*/{"id":\1,"reward":null}/')";
  config.model.router_aux_loss_coef = 0.1;
  config.optimizer.weight_decay = 0.1;
  Outcome outcome;
  outcome.sink.keep_states = true;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  for (size_t i = 3; i < outcome.sink.records.size(); ++i) {
    EXPECT_EQ(GetMetric(outcome.sink.records[i], "num_updates"), 0.0);  // which resuming from a checkpoint reads
    EXPECT_EQ(outcome.sink.states[i].updates, 0);
    EXPECT_TRUE(outcome.sink.records[i].weight_digests == outcome.sink.records[2].weight_digests);
    for (const auto& [name, value] : outcome.sink.records[i].metrics) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

}  // namespace
}  // namespace reprise::rl
