// Tests of minibatches of single episodes and of single decisions with the whole learner, and of the sums over one.

#include <cmath>
#include <string>
#include <tuple>

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/minibatches.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::ExpectSame;
using testing::GetMetric;
using testing::Outcome;
using testing::RunLearner;

// 44 completions of 11 prompts in 13 minibatches: most groups are cut.
Config CutGroups(const std::string& algorithm = "grpo") {
  Config config = testing::SmallRun();
  SelectPreset(algorithm, &config.algorithm);
  config.algorithm.update.num_iterations = 2;
  config.algorithm.update.num_mini_batches = 13;
  config.algorithm.update.unit = MinibatchUnit::kEpisode;
  return config;
}

Outcome RunAll(const Config& config, const testing::RunOptions& how = {}) {
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, how, &outcome));
  return outcome;
}

TEST(LearnerMinibatchesTest, OfEpisodesGiveTheSameBitsOnAnyRanksThreadsAndMicroBatches) {
  for (const char* algorithm : {"grpo", "ppo"}) {
    SCOPED_TRACE(algorithm);
    Config config = CutGroups(algorithm);
    const Outcome alone = RunAll(config);
    ExpectSame(alone, RunAll(config, {.ranks = 3}));
    config.execution.threads = 2;
    config.execution.micro_batch_tokens = 12;
    ExpectSame(alone, RunAll(config, {.ranks = 8}));
    ExpectSame(alone, RunAll(config, {.ranks = 2, .replay = &alone.sink.records}));
  }
}

TEST(LearnerMinibatchesTest, OfEpisodesResumeAfterAnyStepToTheSameResult) {
  const Config config = CutGroups();
  const Outcome whole = RunAll(config);
  for (const size_t done : {3u, 5u}) {
    const Outcome rest = RunAll(config, {.ranks = 2, .from = &whole.sink.states[done]});
    ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done - 1);
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto found = FirstDivergence(whole.sink.records[done + 1 + i], rest.sink.records[i], {});
      EXPECT_FALSE(found.has_value()) << found->ToString();
    }
  }
}

TEST(LearnerMinibatchesTest, OfEpisodesDifferFromThoseOfGroupsAndAreReported) {
  Config episodes = CutGroups(), groups = CutGroups();
  groups.algorithm.update.num_mini_batches = episodes.algorithm.update.num_mini_batches = 11;
  groups.algorithm.update.unit = MinibatchUnit::kGroup;
  const StepRecord a = RunAll(episodes).sink.records.back(), b = RunAll(groups).sink.records.back();
  EXPECT_NE(a.weight_digests, b.weight_digests);
  EXPECT_EQ(GetMetric(a, "loader/total"), 44);
  EXPECT_EQ(GetMetric(a, "loader/valid"), 44);
  EXPECT_EQ(GetMetric(a, "loader/invalid"), 0);
  EXPECT_EQ(GetMetric(a, "loader/avg_turns"), 1);
  EXPECT_EQ(GetMetric(a, "loader/avg_reward"), GetMetric(a, "reward"));
  EXPECT_EQ(GetMetric(a, "loader/num_batches"), 11);
  EXPECT_TRUE(std::isnan(GetMetric(b, "loader/total")));
}

// Without learning every update sees the same policy, so that the reported entropy is that of all episodes.
TEST(LearnerMinibatchesTest, OfEpisodesVisitEachEpisodeOncePerIteration) {
  Config cut = CutGroups("episode_rloo"), whole = CutGroups("episode_rloo");
  cut.algorithm.update.num_iterations = whole.algorithm.update.num_iterations = 1;
  whole.algorithm.update.num_mini_batches = 1;
  cut.optimizer.learning_rate = whole.optimizer.learning_rate = 0;
  const StepRecord a = RunAll(cut).sink.records.back(), b = RunAll(whole).sink.records.back();
  EXPECT_NEAR(GetMetric(a, "entropy"), GetMetric(b, "entropy"), 1e-12);
  EXPECT_EQ(GetMetric(a, "reward"), GetMetric(b, "reward"));
}

// ---- Decisions

// Some 200 tokens of 44 completions in 5 minibatches: most completions are in several.
Config CutEpisodes(const std::string& algorithm = "grpo") {
  Config config = CutGroups(algorithm);
  config.algorithm.update.num_mini_batches = 5;
  config.algorithm.update.unit = MinibatchUnit::kDecision;
  return config;
}

int64_t CountTokens(const StepRecord& record) {
  int64_t tokens = 0;
  for (const EpisodeRecord& episode : record.episode_N) tokens += episode.decisions.count;
  return tokens;
}

TEST(LearnerMinibatchesTest, OfDecisionsGiveTheSameBitsOnAnyRanksThreadsAndMicroBatches) {
  for (const char* algorithm : {"grpo", "ppo", "agemem"}) {
    SCOPED_TRACE(algorithm);
    Config config = CutEpisodes(algorithm);
    const Outcome alone = RunAll(config);
    ExpectSame(alone, RunAll(config, {.ranks = 3}));
    config.execution.threads = 2;
    config.execution.micro_batch_tokens = 12;
    ExpectSame(alone, RunAll(config, {.ranks = 8}));
    ExpectSame(alone, RunAll(config, {.ranks = 2, .replay = &alone.sink.records}));
  }
}

TEST(LearnerMinibatchesTest, OfDecisionsBySizeResumeAfterAnyStepToTheSameResult) {
  Config config = CutEpisodes("agemem");
  config.algorithm.update.num_mini_batches = 1;
  config.algorithm.update.mini_batch_size = 37;
  const Outcome whole = RunAll(config);
  int64_t updates = 0;
  for (size_t i = 3; i < whole.sink.records.size(); ++i) {
    updates += config.algorithm.update.num_iterations * ((CountTokens(whole.sink.records[i]) + 36) / 37);
    EXPECT_EQ(GetMetric(whole.sink.records[i], "num_updates"), updates);
  }
  EXPECT_NE(CountTokens(whole.sink.records[3]) % 37, 0);  // the last minibatch is smaller
  for (const size_t done : {3u, 5u}) {
    const Outcome rest = RunAll(config, {.ranks = 2, .from = &whole.sink.states[done]});
    ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done - 1);
    for (size_t i = 0; i < rest.sink.records.size(); ++i) {
      const auto found = FirstDivergence(whole.sink.records[done + 1 + i], rest.sink.records[i], {});
      EXPECT_FALSE(found.has_value()) << found->ToString();
    }
  }
}

// Without learning every update sees the same policy: what minibatches count together is what one update of all counts.
TEST(LearnerMinibatchesTest, OfDecisionsCountEachDecisionOncePerIteration) {
  for (const char* algorithm : {"grpo", "ppo"}) {
    Config cut = CutEpisodes(algorithm), whole = cut;
    for (AlgorithmConfig* algorithm : {&cut.algorithm, &whole.algorithm}) {
      SetBeta(0.1, algorithm);
      SetKlInReward(false, algorithm);
      SetAggregation(Aggregation::kDapo, algorithm);
      algorithm->correction.mode = ImportanceMode::kSequenceTruncate;
    }
    cut.rollout.top_k = whole.rollout.top_k = 20;
    whole.algorithm.update.num_mini_batches = 1;
    cut.optimizer.learning_rate = whole.optimizer.learning_rate = 0;
    cut.optimizer.weight_decay = whole.optimizer.weight_decay = 0;
    const StepRecord a = RunAll(cut).sink.records.back(), b = RunAll(whole).sink.records.back();
    for (const char* metric :
         {"entropy", "kl", "val/ratio", "log_ratio/abs_max", "clip_ratio/region_mean",
          "sampling/importance_sampling_ratio/mean", "sampling/importance_sampling_ratio/min", "val/clipfrac_avg"}) {
      if (std::isnan(GetMetric(b, metric))) continue;
      EXPECT_NEAR(GetMetric(a, metric), GetMetric(b, metric), 1e-12) << algorithm << " " << metric;
    }
    const bool divides_equally = algorithm == std::string("grpo");  // a value loss is divided by the minibatch's tokens
    if (divides_equally) {
      EXPECT_NEAR(GetMetric(a, "loss"), GetMetric(b, "loss"), 1e-12);
    }
    EXPECT_NE(GetMetric(a, "grad_norm"), GetMetric(b, "grad_norm"));
  }
}

// At ratio 1 the loss is minus the mean advantage, and yet there is a gradient; the clip acts once the policy has
// moved.
TEST(LearnerMinibatchesTest, TheLossAtRatioOneIsTheMeanAdvantageAndTheClipActsFromTheSecondUpdate) {
  const auto last_of = [](int64_t iterations, double learning_rate, const char* baseline) {
    Config config = CutEpisodes("agemem");
    config.run.steps = 1;
    config.algorithm.advantage.baseline = ParseBaseline(baseline).value();
    SetAggregation(Aggregation::kDapo, &config.algorithm);
    SetBeta(0, &config.algorithm);
    config.algorithm.advantage.gamma = std::string(baseline) == "none" ? -1 : 1;
    config.algorithm.update.num_iterations = iterations;
    config.optimizer.learning_rate = learning_rate;
    const auto reward = [](const Completion& c) { return static_cast<double>(c.text.size()) / 8; };
    return RunAll(config, {.reward = reward}).sink.records.back();
  };
  const auto mean_advantage = [](const StepRecord& record) {
    double sum = 0;
    for (const EpisodeRecord& episode : record.episode_N) {
      sum += episode.advantage * static_cast<double>(episode.decisions.count);
    }
    return sum / static_cast<double>(CountTokens(record));
  };
  const StepRecord rewards = last_of(1, 0, "none"), centred = last_of(1, 0, "step_group_mean");
  EXPECT_GT(mean_advantage(rewards), 0.01);
  EXPECT_NEAR(GetMetric(rewards, "loss"), -mean_advantage(rewards), 1e-12);
  EXPECT_NEAR(mean_advantage(centred), 0, 1e-12);
  EXPECT_NEAR(GetMetric(centred, "loss"), 0, 1e-12);
  for (const StepRecord& record : {rewards, centred}) {
    EXPECT_GT(GetMetric(record, "grad_norm"), 1e-3);
    EXPECT_EQ(GetMetric(record, "clip_ratio/region_mean"), 0);
  }
  const StepRecord second = last_of(2, 0.05, "step_group_mean");
  EXPECT_GT(GetMetric(second, "clip_ratio/region_mean"), 0.01);
  EXPECT_GT(GetMetric(second, "log_ratio/abs_max"), 0.2);
}

TEST(LearnerMinibatchesTest, OfDecisionsLeaveOutWhatIsNotLearned) {
  Config config = CutEpisodes();
  config.algorithm.mask_truncated_completions = config.algorithm.dynamic_sampling = true;
  const auto cut_off = [](bool all) {
    return [all](int, Phase phase, int64_t, models::Model&, Episodes& episodes) {
      if (phase == Phase::kSft) return;
      for (EpisodeRecord& episode : episodes.episode_N) {
        episode.terminated = !all && (episode.prompt + episode.sample) % 2 == 0;
      }
    };
  };
  const auto reward = [](const Completion& c) {
    return c.answer.size() == 3 ? 1.0 : static_cast<double>(c.text.size());
  };
  const Outcome some = RunAll(config, {.reward = reward, .spoil = cut_off(false)});
  ExpectSame(some, RunAll(config, {.ranks = 3, .reward = reward, .spoil = cut_off(false)}));
  EXPECT_GT(GetMetric(some.sink.records.back(), "grad_norm"), 0);
  const Outcome none = RunAll(config, {.reward = reward, .spoil = cut_off(true)});
  ExpectSame(none, RunAll(config, {.ranks = 2, .reward = reward, .spoil = cut_off(true)}));
  EXPECT_EQ(GetMetric(none.sink.records.back(), "grad_norm"), 0);
  EXPECT_EQ(GetMetric(none.sink.records.back(), "num_updates"), 0);
  EXPECT_EQ(GetMetric(none.sink.records.back(), "entropy"), 0);
  EXPECT_EQ(GetMetric(none.sink.records.back(), "sampling/sampling_logp_difference/max"), 0);
}

// Every minibatch has one decision, and there are as many as the step has decisions.
TEST(LearnerMinibatchesTest, OfDecisionsAreFewerWhereAStepHasFewerDecisions) {
  Config config = CutEpisodes();
  config.run.steps = 1;
  config.rollout.prompts_per_step = 2;
  config.rollout.max_completion_length = 3;
  config.algorithm.update.num_iterations = 1;
  config.algorithm.update.num_mini_batches = 24;
  const Outcome alone =
      RunAll(config, {.reward = [](const Completion& c) { return static_cast<double>(c.text.size()); }});
  const StepRecord& record = alone.sink.records.back();
  EXPECT_LE(CountTokens(record), 24);
  EXPECT_EQ(GetMetric(record, "num_updates"), CountTokens(record));
}

// ---- Sizes

TEST(LearnerMinibatchesTest, OfASizeAreThoseOfTheNumberThatItGives) {
  for (const auto& [unit, number, size] :
       {std::tuple(MinibatchUnit::kGroup, 11, 1), {MinibatchUnit::kGroup, 4, 3}, {MinibatchUnit::kEpisode, 11, 4}}) {
    Config by_number = CutGroups(), by_size = by_number;
    by_number.algorithm.update.unit = by_size.algorithm.update.unit = unit;
    by_number.algorithm.update.num_mini_batches = number;
    by_size.algorithm.update.num_mini_batches = 1, by_size.algorithm.update.mini_batch_size = size;
    const Outcome a = RunAll(by_number), b = RunAll(by_size);
    EXPECT_EQ(a.last_weights_R, b.last_weights_R) << number;
    EXPECT_EQ(GetMetric(a.sink.records.back(), "loss"), GetMetric(b.sink.records.back(), "loss"));
    EXPECT_EQ(GetMetric(b.sink.records.back(), "num_updates"),
              static_cast<double>(number * by_size.algorithm.update.num_iterations * by_size.run.steps));
  }
}

// Two prompts of two episodes each: what target_kl is compared with.
TEST(ApproxKlOfMinibatchTest, IsTheMeanOverTheMinibatchsTokensOnAnyNumberOfRanks) {
  const double kl_N[] = {1, 2, 4, 8};
  const int64_t tokens_N[] = {1, 1, 2, 4};
  for (const int ranks : {1, 2}) {
    EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) {
      const StepShape shape = {Phase::kTraining, 1, 2, 2, comm.rank()};
      std::vector<EpisodeOutcome> outcome_N;
      for (int64_t n = 2 * comm.rank(); n < (ranks == 1 ? 4 : 2 * comm.rank() + 2); ++n) {
        EpisodeOutcome& outcome = outcome_N.emplace_back();
        outcome.metrics.approx_kl_sum = kl_N[n];
        outcome.metrics.num_tokens = tokens_N[n];
      }
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0, 3}).value(), 9.0 / 5);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {1, 2}).value(), 6.0 / 3);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0}).value(), 1.0);
      EXPECT_EQ(ApproxKlOfMinibatch(comm, shape, outcome_N, {0, 1, 2, 3}).value(), 15.0 / 8);
      return absl::OkStatus();
    }));
  }
}

}  // namespace
}  // namespace reprise::rl
