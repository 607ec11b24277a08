#include "rl/episodes/task_batch.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;

const models::Tokenizer& Ascii() {
  static const auto* const tokenizer = new models::Tokenizer(
      *models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()));
  return *tokenizer;
}

std::vector<data::Task> Problems(int count) {
  std::vector<data::Task> problems;
  for (int i = 0; i < count; ++i) problems.push_back({absl::StrCat("q", i, "="), absl::StrCat("a", i)});
  return problems;
}

Config FourPromptsAStep() {
  Config config;
  config.rollout.prompts_per_step = 4;
  config.sft.prompts_per_step = 4;
  return config;
}

// By prompt.
using Tasks = std::map<int64_t, CompletionTask>;

Tasks Draw(const Config& config, const std::vector<data::Task>& problems, Phase phase, int64_t step, int64_t begin = 0,
           int64_t end = 4) {
  const absl::StatusOr<std::vector<TaskRecord>> records =
      DrawTasks(config, problems, Ascii(), 256, phase, step, begin, end);
  EXPECT_OK(records);
  Tasks tasks;
  if (!records.ok()) return tasks;
  for (const TaskRecord& record : *records) tasks[record.prompt] = CompletionOf(record);
  return tasks;
}

TEST(DrawTasksTest, DrawsEveryProblemOfAFileOncePerEpochWhereverStepsEnd) {
  const std::vector<data::Task> problems = Problems(10);
  std::map<std::string, int> met;
  std::set<std::string> first_epoch;
  for (int64_t step = 1; step <= 5; ++step) {  // 20 prompts: two epochs
    for (const auto& [prompt, task] : Draw(FourPromptsAStep(), problems, Phase::kTraining, step)) {
      if (first_epoch.size() < 10) {
        EXPECT_TRUE(first_epoch.insert(task.text).second) << task.text;
      }
      ++met[task.text];
      EXPECT_EQ(task.answer, "a" + task.text.substr(1, task.text.size() - 2));
      EXPECT_EQ(task.tokens, *Ascii().Encode(task.text));
    }
  }
  EXPECT_EQ(met.size(), 10u);
  for (const auto& [text, times] : met) EXPECT_EQ(times, 2) << text;
}

TEST(DrawTasksTest, GivesEveryRankItsPartOfTheSameStep) {
  const Config config = FourPromptsAStep();
  for (const std::vector<data::Task>& problems : {Problems(10), Problems(0)}) {
    Tasks parts = Draw(config, problems, Phase::kTraining, 3, 0, 1);
    parts.merge(Draw(config, problems, Phase::kTraining, 3, 1, 4));
    EXPECT_EQ(parts, Draw(config, problems, Phase::kTraining, 3));
  }
}

TEST(DrawTasksTest, HasAnotherOrderForAnotherSeedAndInTheSft) {
  Config config = FourPromptsAStep();
  const std::vector<data::Task> problems = Problems(100);
  const Tasks tasks = Draw(config, problems, Phase::kTraining, 1);
  EXPECT_NE(tasks, Draw(config, problems, Phase::kSft, 1));
  config.run.seed = 2;
  EXPECT_NE(tasks, Draw(config, problems, Phase::kTraining, 1));
}

TEST(DrawTasksTest, DoesNotUseTheGeneratorWhereThereIsAFile) {
  Config config = FourPromptsAStep();
  const Tasks tasks = Draw(config, Problems(10), Phase::kTraining, 1);
  config.data.task = "addition";
  config.data.max_length = 4096;
  EXPECT_EQ(Draw(config, Problems(10), Phase::kTraining, 1), tasks);
}

TEST(DrawTasksTest, NamesTheLineOfAProblemThatDoesNotFit) {
  Config config = FourPromptsAStep();
  config.rollout.max_completion_length = 20;
  config.data.path = "d.jsonl";
  const std::vector<data::Task> problems = {{std::string(10, 'x'), std::string(25, 'y'), 17}};
  EXPECT_THAT(
      DrawTasks(config, problems, Ascii(), 29, Phase::kTraining, 2, 1, 2),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "prompt 1 of step 2 (line 17 of d.jsonl) has 10 tokens; with rollout.max_completion_length 20 "
               "it does not fit the model's 29 positions: shorten the prompts (rollout.max_prompt_length) or the "
               "completions"));
  EXPECT_OK(DrawTasks(config, problems, Ascii(), 30, Phase::kTraining, 2, 1, 2));
  EXPECT_THAT(
      DrawTasks(config, problems, Ascii(), 34, Phase::kSft, 1, 0, 1),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          "prompt 0 of SFT step 1 (line 17 of d.jsonl) has 10 tokens; with the 25 tokens of its "
          "answer it does not fit the model's 34 positions: shorten the prompts (rollout.max_prompt_length) or the "
          "completions"));
  EXPECT_OK(DrawTasks(config, problems, Ascii(), 35, Phase::kSft, 1, 0, 1));
}

TEST(DrawTasksTest, NamesTheProblemThatTheTokenizerLeavesNothingOf) {
  std::string json = models::AsciiTokenizerJson();
  const std::string none = "\"normalizer\": null";
  ASSERT_NE(json.find(none), std::string::npos);
  json.replace(json.find(none), none.size(),
               R"("normalizer": {"type": "Strip", "strip_left": true, "strip_right": true})");
  ASSERT_OK_AND_ASSIGN(const models::Tokenizer stripping, models::Tokenizer::FromJson(json));
  Config config = FourPromptsAStep();
  config.data.path = "d.jsonl";
  EXPECT_THAT(DrawTasks(config, {{"  ", "y", 17}}, stripping, 64, Phase::kTraining, 2, 1, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "prompt 1 of step 2 (line 17 of d.jsonl) has no tokens: the tokenizer leaves nothing of its "
                       "prompt \"  \", and a completion follows at least one; change the prompt"));
}

TEST(TaskBatchTest, LongPromptsAreTruncatedOnTheConfiguredSide) {
  Config config = FourPromptsAStep();
  const std::vector<data::Task> problems = {{"abcdef", "x"}, {"ab", "x"}};
  const auto tokens_of = [&](const std::string& text) {
    for (const auto& [prompt, task] : Draw(config, problems, Phase::kTraining, 1)) {
      if (task.text == text) return std::string(task.tokens.begin(), task.tokens.end());
    }
    return std::string("no such task");
  };
  config.rollout.max_prompt_length = 4;
  EXPECT_EQ(tokens_of("abcdef"), "cdef");
  EXPECT_EQ(tokens_of("ab"), "ab");
  config.rollout.truncation_side = TruncationSide::kRight;
  EXPECT_EQ(tokens_of("abcdef"), "abcd");
}

}  // namespace
}  // namespace reprise::rl
