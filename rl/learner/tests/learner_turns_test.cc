// Tests with the whole learner of multi-turn episodes: the guarantees of completions hold for them too.

#include <set>

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
using testing::RunOptions;

Config TurnsRun() {
  Config config = testing::SmallRun();
  config.environment.name = "number_guess";
  config.environment.max_turns = 3;
  config.environment.max_action_length = 3;
  config.environment.largest = 12;
  config.sft.steps = 12;
  config.sft.learning_rate = 1e-2;
  config.rollout.max_completion_length = 26;
  config.algorithm.reward.functions = "environment";
  return config;
}

TEST(LearnerTurnsTest, RanksThreadsBatchesAndSlotsChangeNoBit) {
  Outcome expected;
  ASSERT_OK(RunLearner(TurnsRun(), {}, &expected));
  size_t most_turns = 0;
  std::set<size_t> ragged;
  for (const EpisodeRecord& episode : expected.sink.records.back().episode_N) {
    const CompletionEpisode& completion = CompletionOf(episode);
    most_turns = std::max(most_turns, completion.turn_K.size());
    ragged.insert(completion.tokens.size());
  }
  EXPECT_EQ(most_turns, 3u);
  EXPECT_GT(ragged.size(), 3u);
  for (const int ranks : {2, 3, 4}) {
    Config config = TurnsRun();
    config.execution.threads = ranks;
    config.execution.micro_batch_tokens = 10 * ranks;
    config.execution.decode_slots = 5;
    Outcome outcome;
    ASSERT_OK(RunLearner(config, {.ranks = ranks}, &outcome));
    EXPECT_GT(outcome.counts.cut_groups, 0);
    EXPECT_GT(outcome.refills, 0);
    ExpectSame(expected, outcome);
  }
}

TEST(LearnerTurnsTest, TheTrainersLogProbabilitiesAreTheSamplers) {
  Config config = TurnsRun();
  config.rollout.min_new_tokens = 2;
  config.rollout.top_k = 20;
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  for (const StepRecord& record : outcome.sink.records) {
    if (record.phase == Phase::kSft) continue;
    EXPECT_EQ(GetMetric(record, "sampling/sampling_logp_difference/max"), 0);
    EXPECT_GT(GetMetric(record, "turns/mean"), 1);
    EXPECT_GT(GetMetric(record, "observations/mean_length"), 0);
    for (const EpisodeRecord& episode : record.episode_N) {
      const std::vector<uint8_t>& mask_T = episode.decisions.drawn_T;
      for (size_t t = 0; t < mask_T.size(); ++t) {
        if (mask_T[t] == 0) {
          EXPECT_EQ(episode.behaviour_logprobs[t], 0);
        }
      }
    }
  }
  // The distribution that a token was drawn from depends on the token's index within its action.
  Outcome replayed;
  config.execution.threads = 2, config.execution.micro_batch_tokens = 20;
  ASSERT_OK(RunLearner(config, {.ranks = 3, .replay = &outcome.sink.records}, &replayed));
  ExpectSame(outcome, replayed);
}

// ReMax: the baseline of each prompt is the reward of its greedy episode.
TEST(LearnerTurnsTest, TheGreedyBaselineOfAnEnvironmentIsThePromptsGreedyEpisode) {
  Config config = TurnsRun();
  SelectPreset("remax", &config.algorithm);
  config.algorithm.update.num_iterations = 1;
  config.environment.turn_reward = 0.125;
  config.environment.largest = 3;
  Config greedy = config;  // whose samples are all greedy
  greedy.rollout.top_k = 1;
  Outcome sampled, expected;
  ASSERT_OK(RunLearner(config, {}, &sampled));
  ASSERT_OK(RunLearner(greedy, {.ranks = 3}, &expected));
  const auto first_step = [](const Outcome& outcome) -> const StepRecord& { return outcome.sink.records[12]; };
  std::set<double> baselines;
  for (size_t n = 0; n < first_step(sampled).episode_N.size(); ++n) {
    const EpisodeRecord &episode = first_step(sampled).episode_N[n], &best = first_step(expected).episode_N[n];
    EXPECT_EQ(best.advantage, 0.0);
    EXPECT_EQ(episode.advantage, episode.reward - best.reward);
    baselines.insert(best.reward);
  }
  EXPECT_GT(baselines.size(), 1u);
}

TEST(LearnerTurnsTest, AReplayOfTheActionsGivesTheSameRecord) {
  for (const char* algorithm : {"rloo", "grpo", "reinforce_plus_plus", "remax", "a2po", "agemem"}) {
    Config config = TurnsRun();
    SelectPreset(algorithm, &config.algorithm);
    SetBeta(0.05, &config.algorithm);
    Outcome live, replayed;
    ASSERT_OK(RunLearner(config, {}, &live));
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &live.sink.records}, &replayed));
    ExpectSame(live, replayed);
  }
}

// Values, returns and corrected log-probabilities are only of the policy's tokens.
TEST(LearnerTurnsTest, AValueFunctionKeepsInvarianceAndReproducibility) {
  for (const bool has_network : {false, true}) {
    SCOPED_TRACE(has_network);
    Config config = TurnsRun();
    SelectPreset("ppo", &config.algorithm);
    config.algorithm.has_value_network = has_network;
    config.algorithm.correction.mode = ImportanceMode::kTokenTruncate;
    Outcome alone, shared, replayed;
    ASSERT_OK(RunLearner(config, {}, &alone));
    ASSERT_OK(RunLearner(config, {.ranks = 2}, &shared));
    ExpectSame(alone, shared);
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &replayed));
    ExpectSame(alone, replayed);
    const StepRecord& last = alone.sink.records.back();
    EXPECT_EQ(GetMetric(last, "sampling/importance_sampling_ratio/min"), 1);
    EXPECT_EQ(GetMetric(last, "sampling/importance_sampling_ratio/max"), 1);
    EXPECT_EQ(GetMetric(last, "sampling/sampling_logp_difference/max"), 0);
  }
}

TEST(LearnerTurnsTest, RewardsOfTurnsKeepInvarianceAndReproducibility) {
  for (const char* algorithm : {"ppo", "reinforce_plus_plus", "agemem"}) {
    SCOPED_TRACE(algorithm);
    Config config = TurnsRun(), summed = TurnsRun();
    SelectPreset(algorithm, &config.algorithm);
    SelectPreset(algorithm, &summed.algorithm);
    config.environment.turn_reward = summed.environment.turn_reward = -0.125;
    config.algorithm.reward.by_turn = true;
    Outcome alone, shared, replayed, at_the_end;
    ASSERT_OK(RunLearner(config, {}, &alone));
    ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
    ExpectSame(alone, shared);
    ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone.sink.records}, &replayed));
    ExpectSame(alone, replayed);
    // The rewards are the same, but their places change the gradient.
    ASSERT_OK(RunLearner(summed, {}, &at_the_end));
    const size_t first = alone.sink.records.size() - 4;
    const StepRecord &a = alone.sink.records[first], &b = at_the_end.sink.records[first];
    EXPECT_EQ(GetMetric(a, "reward"), GetMetric(b, "reward"));
    EXPECT_NE(GetMetric(a, "grad_norm"), GetMetric(b, "grad_norm"));
  }
}

// The only turn is the whole episode: both places are the same.
TEST(LearnerTurnsTest, TheRewardOfASingleTurnIsThatOfItsEpisode) {
  Config config = TurnsRun();
  config.environment.max_turns = 1;
  SelectPreset("ppo", &config.algorithm);
  Outcome summed, by_turn;
  ASSERT_OK(RunLearner(config, {}, &summed));
  config.algorithm.reward.by_turn = true;
  ASSERT_OK(RunLearner(config, {}, &by_turn));
  ExpectSame(summed, by_turn);
}

TEST(LearnerTurnsTest, AReplayRejectsEpisodesThatEndElsewhere) {
  Outcome live;
  ASSERT_OK(RunLearner(TurnsRun(), {}, &live));
  const auto replay_of = [&](auto spoil) {
    std::vector<StepRecord> records = live.sink.records;
    CompletionEpisode* longest = &CompletionOf(records.back().episode_N[0]);
    for (EpisodeRecord& episode : records.back().episode_N) {
      CompletionEpisode& completion = CompletionOf(episode);
      if (completion.turn_K.size() > longest->turn_K.size()) longest = &completion;
    }
    spoil(*longest);
    Outcome outcome;
    return RunLearner(TurnsRun(), {.replay = &records}, &outcome);
  };
  EXPECT_THAT(replay_of([](CompletionEpisode& episode) {
                episode.tokens.resize(static_cast<size_t>(episode.turn_K[0].action_tokens));
                episode.turn_K.resize(1);
              }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it stops after 1 turns")));
  EXPECT_THAT(replay_of([](CompletionEpisode& episode) {
                episode.turn_K.push_back({0, 1, true, std::nullopt});
                episode.tokens.push_back(1);
              }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it continues after turn 2, its last")));
}

TEST(LearnerTurnsTest, ResumesFromEveryStateToTheSameResult) {
  Outcome whole;
  whole.sink.keep_states = true;
  ASSERT_OK(RunLearner(TurnsRun(), {}, &whole));
  for (size_t i = 0; i + 1 < whole.sink.states.size(); i += 3) {
    Outcome rest;
    ASSERT_OK(RunLearner(TurnsRun(), {.ranks = 2, .from = &whole.sink.states[i]}, &rest));
    ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - i - 1);
    for (size_t k = 0; k < rest.sink.records.size(); ++k) {
      const auto divergence = FirstDivergence(whole.sink.records[i + 1 + k], rest.sink.records[k], {});
      ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
    }
  }
}

// Changing an observation's log-probabilities has no effect: the loss does not read them.
TEST(LearnerTurnsTest, LogProbabilitiesOfObservationsDoNotAffectTheUpdate) {
  Outcome expected, spoiled;
  ASSERT_OK(RunLearner(TurnsRun(), {}, &expected));
  RunOptions how;
  how.spoil = [](int, Phase phase, int64_t step, models::Model&, Episodes& episodes) {
    if (phase != Phase::kTraining || step != 1) return;
    for (EpisodeRecord& episode : episodes.episode_N) {
      const std::vector<uint8_t>& mask_T = episode.decisions.drawn_T;
      for (size_t t = 0; t < mask_T.size(); ++t) {
        if (mask_T[t] == 0) episode.logprobs[t] = -77;
      }
    }
  };
  ASSERT_OK(RunLearner(TurnsRun(), how, &spoiled));
  EXPECT_EQ(expected.last_weights_R, spoiled.last_weights_R);
}

}  // namespace
}  // namespace reprise::rl
