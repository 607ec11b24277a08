#include "data/tasks/task.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Task Make(const TaskOptions& options, uint64_t index, uint64_t step = 0, Purpose purpose = Purpose::kTask,
          uint64_t seed = 42) {
  return MakeTask(options, seed, purpose, step, index);
}

TEST(TaskTest, IsFixedForGivenCoordinates) {
  // Part of the numeric contract: a different answer here means that every run changes.
  EXPECT_EQ(Make({TaskKind::kAddition, 1, 3, 26}, 7, 5).prompt, "7+792=");
  EXPECT_EQ(Make({TaskKind::kAddition, 1, 3, 26}, 7, 5).answer, "799");
  EXPECT_EQ(Make({TaskKind::kReverse, 3, 6, 26}, 7, 5).prompt, "wupu=");
  EXPECT_EQ(Make({TaskKind::kReverse, 3, 6, 26}, 7, 5).answer, "upuw");
  EXPECT_EQ(Make({TaskKind::kSort, 3, 6, 26}, 7, 5).answer, "puuw");
  EXPECT_EQ(Make({TaskKind::kLookup, 1, 2, 4}, 7, 5).prompt, "cb,bd,da,ac;1b=");
  EXPECT_EQ(Make({TaskKind::kLookup, 1, 2, 4}, 7, 5).answer, "d");
}

TEST(TaskTest, DiffersWhenAnyCoordinateDiffers) {
  for (TaskKind kind : {TaskKind::kAddition, TaskKind::kReverse, TaskKind::kSort, TaskKind::kLookup}) {
    const TaskOptions options = {kind, 20, 20, 26};
    std::set<std::string> prompts = {Make(options, 1).prompt,
                                     Make(options, 2).prompt,
                                     Make(options, 1, 1).prompt,
                                     Make(options, 1, 0, Purpose::kEvaluationTask).prompt,
                                     Make(options, 1, 0, Purpose::kSftTask).prompt,
                                     Make(options, 1, 0, Purpose::kTask, 43).prompt};
    EXPECT_EQ(prompts.size(), 6u);
  }
}

TEST(TaskTest, CoversEveryWordAndEveryLengthEvenly) {
  constexpr int kTasks = 12000;
  std::map<std::string, int> counts;
  std::map<size_t, int> lengths;
  for (uint64_t i = 0; i < kTasks; ++i) {
    const std::string prompt = Make({TaskKind::kReverse, 1, 2, 3}, i).prompt;
    ++counts[prompt];
    ++lengths[prompt.size() - 1];
  }
  EXPECT_EQ(counts.size(), 3u + 9u);
  EXPECT_NEAR(lengths[1], kTasks / 2, 250);  // standard deviation 55
  for (const auto& [prompt, count] : counts) {
    EXPECT_NEAR(count, prompt.size() == 2 ? kTasks / 6 : kTasks / 18, 200) << prompt;
  }
}

TEST(TaskTest, CoversEverySumOfOneDigitNumbers) {
  std::set<std::string> prompts;
  for (uint64_t i = 0; i < 2000; ++i) prompts.insert(Make({TaskKind::kAddition, 1, 1, 26}, i).prompt);
  EXPECT_EQ(prompts.size(), 100u);
}

// Follows the pairs of a lookup's text one step at a time.
RC_GTEST_PROP(LookupTest, TheAnswerIsFoundByFollowingThePairs, ()) {
  const int64_t letters = *rc::gen::inRange<int64_t>(1, 27), least = *rc::gen::inRange<int64_t>(1, 5);
  const TaskOptions options = {TaskKind::kLookup, least, least + *rc::gen::inRange<int64_t>(0, 5), letters};
  const Task task = Make(options, *rc::gen::inRange<uint64_t>(0, 1000));
  const size_t end = task.prompt.find(';');
  std::map<char, char> next;
  std::set<char> values;
  for (size_t at = 0; at < end; at += 3) {
    next[task.prompt[at]] = task.prompt[at + 1];
    values.insert(task.prompt[at + 1]);
    RC_ASSERT(task.prompt[at + 2] == ',' || at + 2 == end);
  }
  RC_ASSERT(static_cast<int64_t>(next.size()) == letters && static_cast<int64_t>(values.size()) == letters);
  const int64_t steps = std::stoll(task.prompt.substr(end + 1));
  RC_ASSERT(steps >= options.min_length && steps <= options.max_length);
  char letter = task.prompt[task.prompt.size() - 2];
  std::string way = steps == 1 ? std::string(1, letter) : "";
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) way.push_back(letter);
    letter = next.at(letter);
  }
  RC_ASSERT(task.hint == way);
  RC_ASSERT(task.answer == std::string(1, letter) && task.prompt.back() == '=');
}

TEST(TaskTest, AnAdditionHasItsCarriesAsAHint) {
  for (uint64_t i = 0; i < 50; ++i) {
    const Task task = Make({TaskKind::kAddition, 1, 3, 26}, i);
    const size_t plus = task.prompt.find('+');
    const std::string a = task.prompt.substr(0, plus), b = task.prompt.substr(plus + 1);
    int64_t unit = 1;
    for (const char carry : task.hint) {
      unit *= 10;
      EXPECT_EQ(carry - '0', std::stoll(a) % unit + std::stoll(b) % unit >= unit ? 1 : 0) << task.prompt;
    }
    EXPECT_EQ(task.hint.size(), task.answer.size()) << task.prompt;
  }
}

TEST(LookupTest, CoversEveryCycleAndAnswerEvenly) {
  constexpr int kTasks = 12000;
  std::map<std::string, int> answers, prompts;
  for (uint64_t i = 0; i < kTasks; ++i) {
    const Task task = Make({TaskKind::kLookup, 1, 2, 3}, i);
    ++answers[task.answer];
    ++prompts[task.prompt];
  }
  EXPECT_EQ(prompts.size(), 2u * 6u * 3u * 2u);  // cycles, orders, letters, steps
  for (const auto& [answer, count] : answers) EXPECT_NEAR(count, kTasks / 3, 250) << answer;
  for (const auto& [prompt, count] : prompts) EXPECT_NEAR(count, kTasks / 72, 80) << prompt;
}

TEST(TaskKindTest, ReadsItsNamesAndSuggestsTheNearest) {
  for (absl::string_view name : TaskNames()) ASSERT_OK(ParseTaskKind(name));
  EXPECT_THAT(ParseTaskKind("revers"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"reverse\"?")));
}

TEST(TaskOptionsTest, NamesTheKeyItsValueAndItsRange) {
  EXPECT_OK(ValidateTaskOptions({}));
  EXPECT_THAT(ValidateTaskOptions({TaskKind::kSort, 6, 5, 8}),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("min_length is 6"), HasSubstr("1 to 5"))));
  EXPECT_THAT(ValidateTaskOptions({TaskKind::kSort, 1, 5000, 8}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_length is 5000")));
  EXPECT_THAT(ValidateTaskOptions({TaskKind::kSort, 1, 5, 27}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("alphabet_size is 27")));
}

RC_GTEST_PROP(TaskTest, AnswersAreCorrectAndWithinTheOptions, (uint64_t seed, uint32_t step)) {
  const int64_t min = *rc::gen::inRange(1, 9);
  const TaskOptions options = {static_cast<TaskKind>(*rc::gen::inRange(0, 3)), min, *rc::gen::inRange<int64_t>(min, 10),
                               *rc::gen::inRange(1, 27)};
  const uint64_t index = *rc::gen::inRange<uint64_t>(0, 1 << 20);
  const Task task = Make(options, index, step, Purpose::kTask, seed);
  RC_ASSERT(task == Make(options, index, step, Purpose::kTask, seed));
  RC_ASSERT(task.prompt.back() == '=');
  const std::string question = task.prompt.substr(0, task.prompt.size() - 1);
  const auto within = [&](size_t length) {
    return static_cast<int64_t>(length) >= options.min_length && static_cast<int64_t>(length) <= options.max_length;
  };
  if (options.kind == TaskKind::kAddition) {
    const size_t plus = question.find('+');
    const std::string a = question.substr(0, plus), b = question.substr(plus + 1);
    RC_ASSERT(within(a.size()) && within(b.size()));
    RC_ASSERT((a.size() == 1 || a[0] != '0') && (b.size() == 1 || b[0] != '0'));
    RC_ASSERT(task.answer == std::to_string(std::stoll(a) + std::stoll(b)));
    return;
  }
  RC_ASSERT(within(question.size()));
  for (char letter : question) RC_ASSERT(letter >= 'a' && letter < 'a' + options.alphabet_size);
  std::string expected = question;
  if (options.kind == TaskKind::kReverse) std::reverse(expected.begin(), expected.end());
  if (options.kind == TaskKind::kSort) std::sort(expected.begin(), expected.end());
  RC_ASSERT(task.answer == expected);
}

constexpr TaskKind kKinds[] = {TaskKind::kAddition, TaskKind::kReverse, TaskKind::kSort, TaskKind::kLookup};

TaskOptions AnyOptions() {
  TaskOptions options = {.kind = *rc::gen::elementOf(std::vector<TaskKind>(std::begin(kKinds), std::end(kKinds)))};
  options.min_length = *rc::gen::inRange<int64_t>(1, 12);
  options.max_length = options.min_length + *rc::gen::inRange<int64_t>(0, 3);
  options.alphabet_size = *rc::gen::inRange<int64_t>(1, 27);
  return options;
}

RC_GTEST_PROP(CanBePromptTest, HoldsForEveryPromptThatIsMadeAndForItsReadersAlone, (uint64_t seed)) {
  const TaskOptions options = AnyOptions();
  const std::string prompt = MakeTask(options, seed, Purpose::kTask, 1, 2).prompt;
  RC_ASSERT(CanBePrompt(options, prompt));
  TaskOptions longer = options, others = options;
  longer.min_length = longer.max_length = options.max_length + 1;
  RC_ASSERT(!CanBePrompt(longer, prompt));
  others.kind = options.kind == TaskKind::kAddition ? TaskKind::kSort : TaskKind::kAddition;
  RC_ASSERT(!CanBePrompt(others, prompt));
  RC_ASSERT(!CanBePrompt(options, prompt + "="));
  RC_ASSERT(!CanBePrompt(options, prompt.substr(0, prompt.size() - 1)));
}

TEST(CanBePromptTest, RefusesWhatNoDrawGives) {
  const TaskOptions sums = {TaskKind::kAddition, 1, 2, 8}, words = {TaskKind::kSort, 1, 5, 3},
                    lookups = {TaskKind::kLookup, 1, 12, 3};
  EXPECT_TRUE(CanBePrompt(sums, "0+10="));
  for (const char* text : {"", "=", "+=", "1+=", "01+1=", "1+1+1=", "1-1=", "123+1=", "1 +1="}) {
    EXPECT_FALSE(CanBePrompt(sums, text)) << text;
  }
  EXPECT_TRUE(CanBePrompt(words, "cab="));
  for (const char* text : {"=", "cad=", "CAB=", "c b=", "abcabc="}) EXPECT_FALSE(CanBePrompt(words, text)) << text;
  EXPECT_TRUE(CanBePrompt(lookups, "ca,bc,ab;12a="));
  for (const char* text : {"ca,bc,ab;0a=", "ca,bc,ab;13a=", "ca,bc,ab;1d=", "ca,bc;1a=", "ca,bc,ac;1a=", "cd,bc,ab;1a=",
                           "ca,bc,ab;a=", "ca,bc,ab;=", "ca,bc,ab=", "ca,bc,ab;99999999999999999999a="}) {
    EXPECT_FALSE(CanBePrompt(lookups, text)) << text;
  }
}

TEST(CanonicalProblemTest, HasOnlyWhatDecidesTheAnswer) {
  EXPECT_EQ(CanonicalProblem(TaskKind::kAddition, "12+7="), "7+12=");
  EXPECT_EQ(CanonicalProblem(TaskKind::kAddition, "7+12="), "7+12=");
  EXPECT_EQ(CanonicalProblem(TaskKind::kSort, "cabed="), "abcde=");
  EXPECT_EQ(CanonicalProblem(TaskKind::kLookup, "ca,bc,ab;2a="), "ab,bc,ca;2a=");
  EXPECT_EQ(CanonicalProblem(TaskKind::kReverse, "cab="), "cab=");
}

TEST(CanonicalProblemTest, ATextThatIsNoPromptIsItsOwn) {
  for (const TaskKind kind : {TaskKind::kAddition, TaskKind::kReverse, TaskKind::kSort, TaskKind::kLookup}) {
    for (const char* text : {"", "9+", "+", "b", "ba", "what is b+a?"}) EXPECT_EQ(CanonicalProblem(kind, text), text);
  }
}

// Problems of one form have one answer. Of the forms there are as many as there are different problems: unordered pairs
// of digits; multisets of three letters; cycles of four letters, times four letters and two numbers of steps.
TEST(CanonicalProblemTest, DecidesTheAnswerAndJoinsAllOrders) {
  const auto count = [](const TaskOptions& options, int tasks) {
    std::map<std::string, std::set<std::string>> answers;
    for (int i = 0; i < tasks; ++i) {
      const Task task = Make(options, static_cast<uint64_t>(i));
      answers[CanonicalProblem(options.kind, task.prompt)].insert(task.answer);
    }
    for (const auto& [form, found] : answers) EXPECT_EQ(found.size(), 1u) << form;
    return answers.size();
  };
  EXPECT_EQ(count({TaskKind::kAddition, 1, 1, 26}, 3000), 55u);
  EXPECT_EQ(count({TaskKind::kSort, 3, 3, 4}, 3000), 20u);
  EXPECT_EQ(count({TaskKind::kLookup, 1, 2, 4}, 3000), 6u * 4u * 2u);
  EXPECT_EQ(count({TaskKind::kReverse, 2, 2, 4}, 3000), 16u);
}

}  // namespace
}  // namespace reprise::data
