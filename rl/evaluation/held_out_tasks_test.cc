#include "rl/evaluation/held_out_tasks.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

const models::Tokenizer& Ascii() {
  static const auto* const tokenizer = new models::Tokenizer(
      *models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()));
  return *tokenizer;
}

std::vector<data::Task> File(int64_t lines) {
  std::vector<data::Task> tasks;
  for (int64_t i = 0; i < lines; ++i) tasks.push_back({absl::StrCat(i, "="), absl::StrCat(i), i + 1});
  return tasks;
}

TEST(HeldOutTasksTest, AreDrawnApartFromTheTrainingTasks) {
  ASSERT_OK_AND_ASSIGN(const auto tasks, HeldOutTasks(Config(), {}, Ascii(), 256));
  ASSERT_EQ(tasks.size(), 64u);
  for (int64_t p = 0; p < 64; ++p) {
    EXPECT_EQ(tasks[p].prompt, p);
    const CompletionTask& task = CompletionOf(tasks[p]);
    EXPECT_EQ(task.text, data::MakeTask({}, 1, Purpose::kEvaluationTask, 0, static_cast<uint64_t>(p)).prompt);
    EXPECT_EQ(task.tokens, *Ascii().Encode(task.text));
  }
}

TEST(HeldOutTasksTest, TakeEachProblemOfAFileAtMostOnce) {
  Config config;
  config.evaluation.num_prompts = 20;
  ASSERT_OK_AND_ASSIGN(const auto some, HeldOutTasks(config, File(30), Ascii(), 256));
  std::set<std::string> texts;
  for (const TaskRecord& task : some) texts.insert(CompletionOf(task).text);
  EXPECT_EQ(texts.size(), 20u);
  ASSERT_OK_AND_ASSIGN(const auto all, HeldOutTasks(config, File(7), Ascii(), 256));
  EXPECT_EQ(all.size(), 7u);
}

// Runs that differ only in their seed are evaluated on the same problems.
TEST(HeldOutTasksTest, OfAFileHaveAnOrderThatDependsOnTheSplitAndNotOnTheRun) {
  const auto problems = [](int64_t run_seed, int64_t split_seed) {
    Config config;
    config.run.seed = run_seed;
    config.evaluation.split_seed = split_seed;
    config.evaluation.num_prompts = 20;
    const std::vector<TaskRecord> records = HeldOutTasks(config, File(30), Ascii(), 256).value();
    std::vector<CompletionTask> tasks;
    for (const TaskRecord& record : records) tasks.push_back(CompletionOf(record));
    return tasks;
  };
  EXPECT_EQ(problems(1, 42), problems(2, 42));
  EXPECT_NE(problems(1, 42), problems(1, 43));
}

TEST(HeldOutTasksTest, AreTruncatedAsInTraining) {
  Config config;
  config.evaluation.num_prompts = 1;
  config.rollout.max_prompt_length = 8;
  std::vector<data::Task> file = File(1);
  file[0].prompt = absl::StrCat(std::string(66, '1'), "12345678");
  ASSERT_OK_AND_ASSIGN(const auto left, HeldOutTasks(config, file, Ascii(), 72));  // 74 tokens would not fit
  EXPECT_EQ(CompletionOf(left[0]).tokens, *Ascii().Encode("12345678"));
  EXPECT_EQ(CompletionOf(left[0]).text, file[0].prompt);
  config.rollout.truncation_side = TruncationSide::kRight;
  ASSERT_OK_AND_ASSIGN(const auto right, HeldOutTasks(config, file, Ascii(), 72));
  EXPECT_EQ(CompletionOf(right[0]).tokens, *Ascii().Encode("11111111"));
}

TEST(HeldOutTasksTest, NamesTheProblemThatDoesNotFit) {
  Config config;
  config.evaluation.num_prompts = 1;
  EXPECT_THAT(HeldOutTasks(config, {{"123456789=", "1", 17}}, Ascii(), 70),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("(line 17 of its file) has 10 tokens")));
}

}  // namespace
}  // namespace reprise::rl
