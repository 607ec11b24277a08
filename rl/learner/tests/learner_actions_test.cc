// Tests of checked actions with the whole learner: what is masked, what is dropped, and invariance and reproducibility.

#include <set>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/learner/tests/scripted_episodes.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/decisions.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::AnswerText;
using testing::ExpectSame;
using testing::FourEpisodes;
using testing::GetMetric;
using testing::kLook;
using testing::Outcome;
using testing::RoomRun;
using testing::RunLearner;
using testing::RunOptions;

Config CheckedRun(const std::string& mask, const std::string& invalid) {
  Config config = RoomRun();
  config.environment.action_mask = mask == "action" ? LearnedTokens::kAction : LearnedTokens::kAll;
  config.environment.invalid_episodes = invalid == "drop" ? InvalidEpisodes::kDrop : InvalidEpisodes::kKeep;
  return config;
}

std::vector<StepRecord> Script(const Config& config) {
  return testing::Scripted(config, [](int64_t step, int64_t prompt) {
    auto said_G = FourEpisodes(static_cast<char>('A' + prompt + step));
    if (prompt == 2) said_G[1] = {"{}"};  // leaves one valid episode
    return said_G;
  });
}

TEST(LearnerActionsTest, RanksThreadsAndBatchesChangeNoBitOfWhatIsMaskedAndDropped) {
  for (const char* algorithm : {"episode_rloo", "rloo", "grpo", "reinforce_plus_plus", "ppo", "agemem"}) {
    SCOPED_TRACE(algorithm);
    Config config = CheckedRun("action", "drop");
    SelectPreset(algorithm, &config.algorithm);
    config.algorithm.update.num_iterations = std::string(algorithm) == "episode_rloo" ? 1 : 2;
    if (std::string(algorithm) != "rloo") config.algorithm.loss.top_entropy_quantile = 0.7;
    const std::vector<StepRecord> script = Script(config);
    Outcome expected;
    ASSERT_OK(RunLearner(config, {.replay = &script}, &expected));
    for (const int ranks : {2, 3}) {
      config.execution.threads = ranks;
      config.execution.micro_batch_tokens = 150;
      Outcome outcome;
      ASSERT_OK(RunLearner(config, {.ranks = ranks, .replay = &expected.sink.records}, &outcome));
      EXPECT_GT(outcome.counts.cut_groups, 0);
      ExpectSame(expected, outcome);
    }
  }
}

TEST(LearnerActionsTest, LiveEpisodesAreMaskedTheSameOnAnyRanksThreadsAndSlots) {
  Config config = CheckedRun("action", "keep");
  config.environment.max_action_length = 30;
  config.rollout.max_completion_length = 60;
  Outcome expected, shared, replayed;
  ASSERT_OK(RunLearner(config, {}, &expected));
  std::set<MaskMethod> methods;
  for (const EpisodeRecord& episode : expected.sink.records[0].episode_N) {
    methods.insert(CompletionOf(episode).turn_K[0].check->method);
  }
  EXPECT_EQ(methods.size(), 2u);  // the last tokens, or nothing
  EXPECT_EQ(GetMetric(expected.sink.records[0], "sampling/sampling_logp_difference/max"), 0);
  config.execution.decode_slots = 5;
  config.execution.threads = 2;
  ASSERT_OK(RunLearner(config, {.ranks = 2}, &shared));
  ExpectSame(expected, shared);
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &expected.sink.records}, &replayed));
  ExpectSame(expected, replayed);
}

// Sampling and training agree on reasoning too, although it is not learned: its log-probabilities are compared.
TEST(LearnerActionsTest, ReasoningIsComparedWithSamplingAlthoughItIsNotLearned) {
  Config config = CheckedRun("action", "keep");
  config.environment.max_action_length = 30;
  config.rollout.max_completion_length = 60;
  RunOptions how;
  how.spoil = [](int, Phase, int64_t, models::Model&, Episodes& episodes) { episodes.episode_N[0].logprobs[0] -= 1; };
  Outcome outcome;
  EXPECT_THAT(RunLearner(config, how, &outcome),
              reprise::testing::StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("logprob of token 0")));
}

TEST(LearnerActionsTest, TheMaskChangesWhatIsLearned) {
  const Config all = CheckedRun("all", "keep"), action = CheckedRun("action", "keep");
  const std::vector<StepRecord> script = Script(all);
  Outcome of_all, of_action;
  ASSERT_OK(RunLearner(all, {.replay = &script}, &of_all));
  ASSERT_OK(RunLearner(action, {.replay = &script}, &of_action));
  EXPECT_NE(of_all.last_weights_R, of_action.last_weights_R);
  const EpisodeRecord& first = of_action.sink.records[0].episode_N[0];
  EXPECT_EQ(NumLearned(first.decisions), static_cast<int64_t>(kLook.size() + AnswerText('A').size()));
  EXPECT_EQ(of_all.sink.records[0].episode_N[0].logprobs, first.logprobs);
}

// Compares final weights: the text of a dropped episode must not change them, and that of a kept one must.
TEST(LearnerActionsTest, TheTextOfADroppedEpisodeDoesNotAffectTheUpdate) {
  for (const char* algorithm : {"episode_rloo", "grpo", "dapo", "reinforce_plus_plus", "reinforce"}) {
    SCOPED_TRACE(algorithm);
    for (const std::string invalid : {"drop", "keep"}) {
      Config config = CheckedRun("all", invalid);
      SelectPreset(algorithm, &config.algorithm);
      config.algorithm.update.num_iterations = 1;
      config.model.router_aux_loss_coef = 0;  // routers learn from all rows
      std::vector<Outcome> outcomes(2);
      for (const bool other : {false, true}) {
        const std::vector<StepRecord> script = testing::Scripted(config, [&](int64_t, int64_t prompt) {
          auto said_G = FourEpisodes('B');
          if (other) said_G[2] = {"nothing but some chatter"};
          if (prompt == 1) std::swap(said_G[0], said_G[2]);
          return said_G;
        });
        ASSERT_OK(RunLearner(config, {.replay = &script}, &outcomes[other ? 1 : 0]));
      }
      EXPECT_EQ(outcomes[0].last_weights_R == outcomes[1].last_weights_R, invalid == "drop") << invalid;
    }
  }
}

// Advantages that are whitened over all learned tokens sum to 0, and so do the recorded means, weighted by numbers of
// tokens. The first token of an episode that begins with reasoning is not learned and has no advantage.
TEST(LearnerActionsTest, ARecordHasTheMeanAdvantageOfLearnedTokens) {
  for (const char* algorithm : {"reinforce_plus_plus", "ppo"}) {
    Config config = CheckedRun("action", "keep");
    SelectPreset(algorithm, &config.algorithm);
    const std::vector<StepRecord> script = Script(config);
    Outcome outcome;
    ASSERT_OK(RunLearner(config, {.replay = &script}, &outcome));
    double sum = 0;
    for (const EpisodeRecord& episode : outcome.sink.records[0].episode_N) {
      const int64_t tokens = NumLearned(episode.decisions);
      EXPECT_EQ(episode.advantage == 0, tokens == 0) << algorithm << " " << episode.prompt << " " << episode.sample;
      sum += static_cast<double>(tokens) * episode.advantage;
    }
    EXPECT_NEAR(sum, 0, 1e-9) << algorithm;
  }
}

TEST(LearnerActionsTest, ABaselineUsesOnlyValidEpisodes) {
  Config config = CheckedRun("action", "drop");
  SelectPreset("episode_rloo", &config.algorithm);
  config.algorithm.update.num_iterations = 1;
  const std::vector<StepRecord> script = Script(config);
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.replay = &script}, &outcome));
  const std::vector<EpisodeRecord>& episode_N = outcome.sink.records[0].episode_N;
  EXPECT_NE(episode_N[0].reward, episode_N[1].reward);
  EXPECT_NEAR(episode_N[0].advantage, episode_N[0].reward - episode_N[1].reward, 1e-15);
  EXPECT_NEAR(episode_N[1].advantage, -episode_N[0].advantage, 1e-15);
  EXPECT_EQ(episode_N[2].advantage, 0);
  EXPECT_EQ(episode_N[8].advantage, 0);  // has no other valid episode to be compared with
  const StepRecord& record = outcome.sink.records[0];
  double loss = 0;  // -(1 / valid episodes) sum A_i S_i, S_i over the tokens of actions
  for (const EpisodeRecord& episode : episode_N) {
    const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
    for (size_t t = 0; t < mask_T.size(); ++t) {
      if (mask_T[t] != 0) loss -= episode.advantage * static_cast<double>(episode.logprobs[t]) / 5;
    }
  }
  EXPECT_NEAR(GetMetric(record, "loss"), loss, 1e-12);
  EXPECT_EQ(GetMetric(record, "episodes/total"), 12);
  EXPECT_EQ(GetMetric(record, "episodes/valid"), 5);
  EXPECT_EQ(GetMetric(record, "episodes/dropped"), 7);
  EXPECT_EQ(GetMetric(record, "episodes/dropout/invalid_action"), 3);
  EXPECT_EQ(GetMetric(record, "episodes/dropout/masking_failed"), 4);
  EXPECT_EQ(GetMetric(record, "episodes/lone_groups"), 1);
  EXPECT_EQ(GetMetric(record, "episodes/without_action_tokens"), 0);
  EXPECT_EQ(GetMetric(record, "episodes/answered"), 5.0 / 12);
  EXPECT_EQ(GetMetric(record, "action_tokens/mean"), static_cast<double>(kLook.size() + AnswerText('A').size()));
}

TEST(LearnerActionsTest, AStepWithOnlyInvalidEpisodesChangesNoWeight) {
  const Config config = CheckedRun("action", "drop");
  const std::vector<StepRecord> script =
      testing::Scripted(config, [](int64_t, int64_t) { return std::vector<std::vector<std::string>>(4, {"no"}); });
  Config none = config;
  none.run.steps = 0;
  Outcome before, after;
  ASSERT_OK(RunLearner(none, {}, &before));
  ASSERT_OK(RunLearner(config, {.replay = &script}, &after));
  EXPECT_EQ(GetMetric(after.sink.records[0], "episodes/valid"), 0);
  EXPECT_EQ(GetMetric(after.sink.records[0], "grad_norm"), 0);
  EXPECT_EQ(before.last_weights_R, after.last_weights_R);
}

TEST(LearnerActionsTest, ABaselineOverTheStepComparesTheValidEpisodesOfAllPrompts) {
  Config config = CheckedRun("action", "drop");
  SelectPreset("episode_rloo", &config.algorithm);
  config.algorithm.update.num_iterations = 1;
  config.algorithm.advantage.baseline_over_batch = true;
  SetAggregation(Aggregation::kTurnMean, &config.algorithm);
  config.algorithm.episode_metrics = true;
  const std::vector<StepRecord> script = Script(config);
  Outcome alone, shared;
  ASSERT_OK(RunLearner(config, {.replay = &script}, &alone));
  const StepRecord& record = alone.sink.records[0];
  double sum = 0, count = 0;
  for (const EpisodeRecord& episode : record.episode_N) {
    if (NumLearned(episode.decisions) > 0) sum += episode.reward, ++count;
  }
  ASSERT_EQ(count, 5);
  for (const EpisodeRecord& episode : record.episode_N) {
    const double others = (sum - episode.reward) / (count - 1);
    EXPECT_NEAR(episode.advantage, NumLearned(episode.decisions) > 0 ? episode.reward - others : 0, 1e-15);
  }
  EXPECT_NEAR(GetMetric(record, "baselines/mean"), sum / count, 1e-15);
  EXPECT_EQ(GetMetric(record, "rewards/mean"), sum / count);
  EXPECT_EQ(GetMetric(record, "loss/policy_gradient"), GetMetric(record, "loss"));
  ASSERT_OK(RunLearner(config, {.ranks = 3, .replay = &script}, &shared));
  ExpectSame(alone, shared);
}

// An episode without learned tokens stays in its group and in the average.
TEST(LearnerActionsTest, AnEpisodeWithoutActionTokensStaysInItsGroup) {
  Config config = CheckedRun("action", "keep");
  SelectPreset("episode_rloo", &config.algorithm);
  config.algorithm.update.num_iterations = 1;
  const std::vector<StepRecord> script = Script(config);
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {.replay = &script}, &outcome));
  const std::vector<EpisodeRecord>& episode_N = outcome.sink.records[0].episode_N;
  EXPECT_EQ(GetMetric(outcome.sink.records[0], "episodes/without_action_tokens"), 4);
  EXPECT_EQ(NumLearned(episode_N[3].decisions), 0);
  double sum = 0;
  for (size_t n = 0; n < 4; ++n) sum += episode_N[n].reward;
  EXPECT_NEAR(episode_N[3].advantage, episode_N[3].reward - (sum - episode_N[3].reward) / 3, 1e-15);
}

TEST(LearnerActionsTest, ResumesFromAStateToTheSameResult) {
  const Config config = CheckedRun("action", "drop");
  const std::vector<StepRecord> script = Script(config);
  Outcome whole, rest;
  whole.sink.keep_states = true;
  ASSERT_OK(RunLearner(config, {.replay = &script}, &whole));
  ASSERT_OK(RunLearner(config, {.ranks = 2, .from = &whole.sink.states[0], .replay = &script}, &rest));
  ASSERT_EQ(rest.sink.records.size(), 1u);
  const auto divergence = FirstDivergence(whole.sink.records[1], rest.sink.records[0], {});
  EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
}

}  // namespace
}  // namespace reprise::rl
