// Tests with the whole learner of a limited number of tool calls, and of numeric observations.

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/learner/tests/scripted_episodes.h"
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

// Live runs in rooms; the SFT phase is long enough for some actions to be valid movements, and too short for all to be.
Config Rooms() {
  Config config = testing::RoomRun();
  config.sft.steps = 30;
  config.sft.prompts_per_step = 8;
  config.sft.learning_rate = 1e-2;
  config.environment.max_turns = 3;
  config.environment.max_action_length = 24;
  config.rollout.prompts_per_step = 5;
  config.rollout.max_completion_length = 110;
  config.rollout.temperature = 1.3;
  config.model.max_position_embeddings = 256;
  config.model.words =
      R"(["{\"rotation_angle_degrees\":", ",\"forward_meters\":0,\"left_meters\":0", ",\"answer\":\"", "\",\"done\":true}"])";
  config.model.vocab_size = 132;
  return config;
}

void ExpectThePromises(const Config& config, Outcome* alone) {
  ASSERT_OK(RunLearner(config, {}, alone));
  Outcome shared, replayed;
  ASSERT_OK(RunLearner(config, {.ranks = 3}, &shared));
  ExpectSame(*alone, shared);
  ASSERT_OK(RunLearner(config, {.ranks = 2, .replay = &alone->sink.records}, &replayed));
  ExpectSame(*alone, replayed);
}

// The script's actions in every episode: two looks, and an answer.
StepRecord PlayedByScript(const Config& config) {
  const std::vector<StepRecord> script = testing::Scripted(config, [&](int64_t, int64_t) {
    return std::vector<std::vector<std::string>>(static_cast<size_t>(config.rollout.num_generations),
                                                 {testing::kLook, testing::kLook, testing::AnswerText('A')});
  });
  Outcome outcome;
  EXPECT_OK(RunLearner(config, {.ranks = 2, .replay = &script}, &outcome));
  return outcome.sink.records.empty() ? StepRecord() : outcome.sink.records[0];
}

Config ScriptedRooms(int64_t max_tool_calls) {
  Config config = testing::RoomRun();
  config.environment.max_turns = 4;
  config.rollout.max_completion_length = 230;
  config.model.max_position_embeddings = 512;
  config.environment.max_tool_calls = max_tool_calls;
  return config;
}

TEST(LearnerToolsTest, ACallBeyondTheLimitIsRefusedAndThePolicyMayStillAnswer) {
  const StepRecord record = PlayedByScript(ScriptedRooms(1));
  for (const EpisodeRecord& episode : record.episode_N) {
    const std::vector<TurnRecord>& turn_K = CompletionOf(episode).turn_K;
    ASSERT_EQ(turn_K.size(), 3u);
    EXPECT_EQ(turn_K[0].reply->tool_call, ToolCall::kExecuted);
    EXPECT_EQ(*turn_K[1].reply, (Reply{.observation = "no tool calls left\n", .tool_call = ToolCall::kRefused}));
    EXPECT_EQ(turn_K[2].reply->tool_call, ToolCall::kNone);
    EXPECT_TRUE(turn_K[2].reply->done);
  }
  EXPECT_EQ(GetMetric(record, "tools/call_frequency"), 2);
  EXPECT_EQ(GetMetric(record, "tools/failure_frequency"), 0.5);
}

TEST(LearnerToolsTest, WithoutALimitCallsAreNotCounted) {
  const StepRecord free = PlayedByScript(ScriptedRooms(0)), bounded = PlayedByScript(ScriptedRooms(2));
  EXPECT_TRUE(std::isnan(GetMetric(free, "tools/call_frequency")));
  EXPECT_EQ(GetMetric(bounded, "tools/call_frequency"), 2);
  EXPECT_EQ(GetMetric(bounded, "tools/failure_frequency"), 0);
  for (size_t n = 0; n < free.episode_N.size(); ++n) {
    const CompletionEpisode& completion = CompletionOf(free.episode_N[n]);
    EXPECT_EQ(completion.tokens, CompletionOf(bounded.episode_N[n]).tokens);
    EXPECT_EQ(completion.turn_K[0].reply->tool_call, ToolCall::kNone);
  }
}

TEST(LearnerToolsTest, ALimitKeepsInvarianceAndReproducibility) {
  Config config = Rooms();
  config.environment.max_tool_calls = 1;
  config.environment.tool_call_refusal = "no\n";
  Outcome outcome;
  ExpectThePromises(config, &outcome);
  double refused = 0, calls = 0;
  for (const StepRecord& record : outcome.sink.records) {
    if (record.phase == Phase::kSft) continue;
    calls += GetMetric(record, "tools/call_frequency");
    refused += GetMetric(record, "tools/failure_frequency");
  }
  EXPECT_GT(calls, 0);
  EXPECT_GT(refused, 0);
}

TEST(LearnerToolsTest, ARefusalTextThatCannotBeEncodedIsRejectedAtTheStart) {
  Config config = Rooms();
  config.environment.max_tool_calls = 1;
  config.environment.tool_call_refusal = "kein Aufruf \u00fcbrig\n";
  Outcome outcome;
  EXPECT_THAT(RunLearner(config, {}, &outcome),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("environment.tool_call_refusal \"kein Aufruf")));
}

TEST(LearnerToolsTest, FeatureObservationsKeepInvarianceAndReproducibility) {
  Config config = Rooms();
  config.environment.observation = ObservationForm::kFeatures;
  config.environment.feature_bins = 16;
  Outcome outcome;
  ExpectThePromises(config, &outcome);
  bool some_observed = false;
  for (const StepRecord& record : outcome.sink.records) {
    for (const EpisodeRecord& episode : record.episode_N) {
      for (const TurnRecord& turn : CompletionOf(episode).turn_K) {
        some_observed |= turn.observation_tokens > 0;
        if (!turn.reply || turn.reply->done) continue;
        EXPECT_TRUE(turn.reply->observation.starts_with("8 8 8 ")) << turn.reply->observation;
        EXPECT_TRUE(turn.reply->features.empty());
      }
    }
  }
  EXPECT_TRUE(some_observed);
}

}  // namespace
}  // namespace reprise::rl
