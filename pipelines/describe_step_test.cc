#include "pipelines/describe_step.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

rl::StepRecord TrainingStep() {
  rl::StepRecord record;
  record.step = 3;
  record.task_P = {{0, "ab=\n", "ba", {97, 98, 61}}};
  rl::EpisodeRecord episode;
  episode.tokens = {98, 97, 1};
  episode.logprobs = {-0.5f, -0.25f, -0.125f};
  episode.terminated = true;
  episode.rewards_F = {1.0};
  episode.reward = 1.0;
  episode.advantage = 0.5;
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

TEST(DescribeStepTest, AnswersOfAWarmUpHaveNoReward) {
  rl::StepRecord record = TrainingStep();
  record.phase = rl::Phase::kWarmUp;
  record.episode_N[0].rewards_F.clear();
  record.metrics.clear();
  EXPECT_THAT(DescribeStep(record, TokenText()), Not(HasSubstr("reward")));
}

TEST(DescribeCompletionTest, EveryTokenHasItsLogProbability) {
  const std::string text = DescribeCompletion(TrainingStep(), 0, TokenText());
  EXPECT_THAT(text, HasSubstr("       2      1                -0.125"));
  const nlohmann::ordered_json json = CompletionJson(TrainingStep(), 0, TokenText());
  EXPECT_EQ(json["logprobs"].size(), 3);
  EXPECT_EQ(json["tokens"][2], 1);
  EXPECT_FALSE(json.contains("text"));
}

}  // namespace
}  // namespace reprise
