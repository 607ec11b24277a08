#include "pipelines/stored/describe_step.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/describe_tables.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/record/completions/record_turns.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

rl::StepRecord TrainingStep() {
  rl::StepRecord record;
  record.step = 3;
  record.task_P = {rl::CompletionTaskRecord(0, {.text = "ab=\n", .answer = "ba", .tokens = {97, 98, 61}})};
  rl::EpisodeRecord episode;
  rl::CompletionOf(episode).tokens = {98, 97, 1};
  episode.logprobs = {-0.5f, -0.25f, -0.125f};
  episode.entropies = {0.5f, 0.25f, 1.0f};
  episode.terminated = true;
  episode.rewards_F = {1.0};
  episode.reward = 1.0;
  episode.advantage = 0.5;
  episode.decisions.count = 3;
  record.episode_N = {episode};
  record.metrics = {{"reward", 1.0}};
  return record;
}

TEST(DescribeStepTest, WithoutATokenizerCompletionsAreIdsWithoutTheEndToken) {
  const std::string text = DescribeStep(TrainingStep(), TokenText());
  EXPECT_THAT(text, HasSubstr("training step 3: 1 tasks, 1 completions\n"));
  EXPECT_THAT(text, HasSubstr("task 0: \"ab=\\n\"  answer \"ba\"\n"));
  EXPECT_THAT(text, HasSubstr("reward  1.000  advantage +0.5000  logprob   -0.875    3 tokens       [98 97]\n"));
}

TEST(DescribeStepTest, AnswersInASftHaveNoReward) {
  rl::StepRecord record = TrainingStep();
  record.phase = rl::Phase::kSft;
  record.episode_N[0].reward = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(DescribeStep(record, TokenText()), HasSubstr("no reward (unscorable)  logprob"));
  record.episode_N[0].rewards_F.clear();
  record.metrics.clear();
  EXPECT_THAT(DescribeStep(record, TokenText()), Not(HasSubstr("reward")));
}

// "98 97" with a reply, then "99", truncated.
rl::StepRecord StepOfTurns() {
  rl::StepRecord record = TrainingStep();
  rl::EpisodeRecord& episode = record.episode_N[0];
  rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  completion.tokens = {98, 97, 120, 121, 99};
  episode.logprobs = {-0.5f, -0.25f, 0, 0, -0.125f};
  episode.terminated = false;
  completion.turn_K = {{0, 2, true, rl::Reply{.observation = "xy", .reward = 0.5}}, {2, 1, false, std::nullopt}};
  episode.decisions = rl::MakeDecisions(completion);
  return record;
}

TEST(DescribeStepTest, EpisodesOfTurnsShowTheDialogueTurnByTurn) {
  EXPECT_THAT(DescribeStep(StepOfTurns(), TokenText()), HasSubstr("5 tokens, cut  [98 97] -> \"xy\" [99]\n"));
  const nlohmann::ordered_json turns = StepJson(StepOfTurns(), TokenText())["completions"][0]["turns"];
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0]["observation"], "xy");
  EXPECT_EQ(turns[0]["reward"], 0.5);
  EXPECT_EQ(turns[1]["observation_tokens"], 2);
  EXPECT_FALSE(turns[1].contains("reward"));
}

TEST(DescribeStepTest, MarksTokensOfActionsThatAreNotLearned) {
  rl::StepRecord record = StepOfTurns();
  rl::EpisodeRecord& episode = record.episode_N[0];
  rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  completion.turn_K[0].check = rl::ActionCheck{.valid = true, .learned_begin = 1, .learned_end = 2};
  completion.turn_K[1].check = rl::ActionCheck{.learned_begin = 0, .learned_end = 0};
  episode.decisions = rl::MakeDecisions(completion);
  const nlohmann::ordered_json turns = StepJson(record, TokenText())["completions"][0]["turns"];
  EXPECT_EQ(turns[0]["action_mask"].dump(), R"({"method":"failed","valid":true,"learned_begin":1,"learned_end":2})");
  const std::string text = DescribeCompletion(record, 0, TokenText());
  EXPECT_THAT(text, HasSubstr("98                  -0.5    (not learned)\n"));
  EXPECT_THAT(text, HasSubstr("97                 -0.25  \n"));
  EXPECT_THAT(DescribeStep(record, TokenText()), Not(HasSubstr("(not learned)")));
  completion.turn_K[0].check->learned_begin = 2;
  episode.decisions = rl::MakeDecisions(completion);
  EXPECT_THAT(DescribeStep(record, TokenText()), HasSubstr("[99]  (not learned)\n"));
}

TEST(DescribeCompletionTest, TokensOfObservationsHaveNoLogProbability) {
  const std::string text = DescribeCompletion(StepOfTurns(), 0, TokenText());
  EXPECT_THAT(text, HasSubstr("       2    120           observation"));
  EXPECT_THAT(text, HasSubstr("       4     99                -0.125"));
}

TEST(DescribeCompletionTest, ShowsTheBehaviourLogProbabilityWhereItDiffers) {
  rl::StepRecord record = StepOfTurns();
  record.episode_N[0].behaviour_logprobs = {-0.375f, -0.25f, 0, 0, -0.0625f};
  const std::string text = DescribeCompletion(record, 0, TokenText());
  EXPECT_THAT(text, HasSubstr("log-probability       it was drawn with  text\n"));
  EXPECT_THAT(text, HasSubstr("       0     98                  -0.5                -0.375  "));
  EXPECT_EQ(CompletionJson(record, 0, TokenText())["behaviour_logprobs"].size(), 5);
  EXPECT_FALSE(CompletionJson(StepOfTurns(), 0, TokenText()).contains("behaviour_logprobs"));
}

TEST(DescribeCompletionTest, EveryTokenHasItsLogProbability) {
  const std::string text = DescribeCompletion(TrainingStep(), 0, TokenText());
  EXPECT_THAT(text, HasSubstr("       2      1                -0.125"));
  const nlohmann::ordered_json json = CompletionJson(TrainingStep(), 0, TokenText());
  EXPECT_EQ(json["logprobs"].size(), 3);
  EXPECT_EQ(json["entropies"], nlohmann::ordered_json({0.5, 0.25, 1.0}));
  EXPECT_EQ(json["tokens"][2], 1);
  EXPECT_FALSE(json.contains("text"));
}

TEST(SampleLinesTest, AreTheFirstCompletionsOfTheFirstTasks) {
  rl::StepRecord record = TrainingStep();
  for (int64_t prompt = 1; prompt < 5; ++prompt) {
    record.task_P.push_back(rl::CompletionTaskRecord(prompt, {.text = "cd=", .answer = "dc"}));
    for (int64_t sample = 0; sample < 2; ++sample) {
      record.episode_N.push_back(record.episode_N[0]);
      record.episode_N.back().prompt = prompt;
    }
  }
  const std::vector<std::string> lines = SampleLines(record, TokenText());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "\"ab=\\n\" -> [98 97]  reward 1.000");
  EXPECT_EQ(lines[1], lines[2]);
  rl::CompletionOf(record.task_P[0]).text = std::string(1000, 'x');
  EXPECT_LT(SampleLines(record, TokenText())[0].size(), 300u);
}

// The bytes of an untrusted file need not be text.
TEST(DescribeTablesTest, TextThatIsNotUtf8IsShownWithReplacements) {
  rl::StepRecord record = TrainingStep();
  record.task_P = {rl::CompletionTaskRecord(0, {.text = "bad\xff=", .answer = "ba", .tokens = {97, 98, 61}})};
  rl::StepTables step;
  step.step = record.step;
  step.tables = rl::CompletionTables(record, {});
  EXPECT_THAT(DescribeTables(step), HasSubstr("text \"bad\xEF\xBF\xBD=\""));
}

}  // namespace
}  // namespace reprise
