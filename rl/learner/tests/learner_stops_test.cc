// Tests with the whole learner of completions that end with configured texts and tokens.

#include <algorithm>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/completions/completion_record.h"
#include "rl/reward/reward.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using testing::ExpectSame;
using testing::GetMetric;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLearner;

constexpr int32_t kStopToken = 'c';

// Words of the letters a to d.
Config StopsRun() {
  Config config = testing::SmallRun();
  config.sft.steps = 10;
  config.sft.learning_rate = 1e-2;
  config.rollout.stop = R"(["ab", "bb"])";
  config.rollout.stop_token_ids = "[99]";
  config.algorithm.reward.functions = "character_match exact_match";
  config.algorithm.mask_truncated_completions = true;
  config.evaluation = {.every = 2, .num_prompts = 8, .num_generations = 2};
  return config;
}

struct Ends {
  int text = 0, token = 0, own = 0, length = 0;
};

std::string TextOf(absl::Span<const int32_t> tokens) { return std::string(tokens.begin(), tokens.end()); }

TEST(LearnerStopsTest, EveryCompletionEndsAtItsFirstStopWhichItsRewardDoesNotRead) {
  Outcome outcome;
  ASSERT_OK(RunLearner(StopsRun(), {}, &outcome));
  Ends ends;
  for (const StepRecord& record : outcome.sink.records) {
    if (record.phase == Phase::kSft) continue;
    EXPECT_EQ(GetMetric(record, "sampling/sampling_logp_difference/max"), 0);
    double cut = 0;
    for (const EpisodeRecord& episode : record.episode_N) {
      const std::vector<int32_t>& tokens = CompletionOf(episode).tokens;
      std::string text = TextOf(tokens);
      const size_t stop = std::min(text.find("ab"), text.find("bb"));
      const bool by_text = stop != std::string::npos, by_token = tokens.back() == kStopToken;
      const bool by_end = tokens.back() == 1;
      EXPECT_EQ(episode.terminated, by_text || by_token || by_end) << text;
      EXPECT_EQ(std::count(text.begin(), text.end() - 1, kStopToken), 0);
      if (by_text) {
        EXPECT_EQ(stop + 2, text.size()) << text;
      }
      ++(by_text ? ends.text : by_token ? ends.token : by_end ? ends.own : ends.length);
      cut += episode.terminated ? 0 : 1;
      text.resize(by_text ? stop : text.size() - (by_token || by_end ? 1 : 0));
      const std::string& answer = CompletionOf(record.task_P[episode.prompt]).answer;
      if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 32; })) {
        EXPECT_EQ(episode.rewards_F[0], CharacterMatch({"", answer, text, episode.terminated})) << text;
      }
    }
    EXPECT_NEAR(GetMetric(record, "completions/clipped_ratio"), cut / static_cast<double>(record.episode_N.size()),
                1e-12);
  }
  EXPECT_GT(ends.text, 10);
  EXPECT_GT(ends.token, 10);
  EXPECT_GT(ends.own, 0);
  EXPECT_GT(ends.length, 0);
}

TEST(LearnerStopsTest, RanksThreadsBatchesAndSlotsChangeNoBitAndAReplayAgrees) {
  Outcome expected;
  ASSERT_OK(RunLearner(StopsRun(), {}, &expected));
  Config config = StopsRun();
  config.execution.threads = 2;
  config.execution.micro_batch_tokens = 10;
  config.execution.decode_slots = 5;
  Outcome outcome, replayed;
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &outcome));
  EXPECT_GT(outcome.refills, 0);
  ExpectSame(expected, outcome);
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &expected.sink.records}, &replayed));
  ExpectSame(expected, replayed);
}

// The completion that a baseline is computed from ends like all others.
TEST(LearnerStopsTest, TheGreedyBaselineStopsToo) {
  Config config = StopsRun();
  config.algorithm.reward.functions = "character_match";
  SelectPreset("remax", &config.algorithm);
  config.algorithm.reward.soft_punish_cache = 7;  // makes the reward depend on the length
  config.rollout.stop = R"(["a"])";
  config.rollout.stop_token_ids = "";
  config.sft.steps = 60;
  config.rollout.top_k = 1;  // every sample is the greedy one: all advantages are 0
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  double reward = 0;
  for (const EpisodeRecord& episode : outcome.sink.records.back().episode_N) {
    EXPECT_EQ(episode.advantage, 0);
    reward += episode.reward;
  }
  EXPECT_NE(reward, 0);
}

TEST(LearnerStopsTest, AnEvaluationsCompletionsEndAtStopsToo) {
  Config config = StopsRun();
  config.rollout.stop = R"(["a", "b", "d"])";
  Outcome outcome;
  ASSERT_OK(RunLearner(config, {}, &outcome));
  Config free = StopsRun();
  free.rollout.stop = free.rollout.stop_token_ids = "";
  Outcome without;
  ASSERT_OK(RunLearner(free, {}, &without));
  const char* length = "eval_completions/mean_length";
  EXPECT_LT(GetMetric(outcome.sink.records.back(), length), GetMetric(without.sink.records.back(), length) - 1);
}

TEST(LearnerStopsTest, RejectsStopTokensThatTheModelDoesNotHave) {
  Config config = StopsRun();
  config.rollout.stop_token_ids = "[127, 128]";
  Outcome outcome;
  EXPECT_THAT(RunLearner(config, {}, &outcome),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rollout.stop_token_ids: 128 is not among the model's 128 tokens")));
}

}  // namespace
}  // namespace reprise::rl
