#include "rl/environments/countdown/countdown.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Reply AnswerTo(const std::string& action) {
  Countdown environment(3, 10);
  const absl::StatusOr<Reply> reply =
      environment.Step({.task = {.prompt = "3 5 7 -> 22\n", .answer = "3*5+7"}, .actions = {action}});
  EXPECT_OK(reply.status());
  return reply.value_or(Reply{});
}

TEST(CountdownTest, RewardsEverySolution) {
  const Reply right = {.observation = "yes\n", .reward = 1, .done = true};
  EXPECT_EQ(AnswerTo("3*5+7"), right);
  EXPECT_EQ(AnswerTo("7 + (5 * 3)"), right);
}

TEST(CountdownTest, RepliesWithTheValueOfAMiss) {
  EXPECT_EQ(AnswerTo("3+5*7"), (Reply{.observation = "38\n"}));
  EXPECT_EQ(AnswerTo("7"), (Reply{.observation = "7\n"}));
}

TEST(CountdownTest, AcceptsFractionsOnTheWay) {
  Countdown environment(3, 10);
  const auto answer_to = [&](const std::string& action) {
    return environment.Step({.task = {.prompt = "1 4 4 -> 1\n", .answer = "1*4/4"}, .actions = {action}}).value();
  };
  EXPECT_EQ(answer_to("1/4*4"), (Reply{.observation = "yes\n", .reward = 1, .done = true}));
  EXPECT_EQ(answer_to("1/4-4"), (Reply{.observation = "-15/4\n"}));
}

TEST(CountdownTest, RejectsAPromptThatIsNoProblemOfIts) {
  Countdown environment(3, 10);
  EXPECT_THAT(environment.Step({.task = {.prompt = "what is 3+5?", .answer = "8"}, .actions = {"8"}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected numbers and a target")));
}

TEST(CountdownTest, TheOrderOfTheNumbersIsNoPartOfAProblem) {
  const Countdown environment(3, 10);
  EXPECT_EQ(environment.CanonicalProblem("7 3 5 -> 22\n"), environment.CanonicalProblem("3 5 7 -> 22\n"));
  EXPECT_NE(environment.CanonicalProblem("3 5 7 -> 22\n"), environment.CanonicalProblem("3 5 7 -> 23\n"));
  EXPECT_NE(environment.CanonicalProblem("3 5 5 -> 22\n"), environment.CanonicalProblem("3 3 5 -> 22\n"));
  EXPECT_EQ(environment.CanonicalProblem("10 9 -> 1\n"), environment.CanonicalProblem("9 10 -> 1\n"));
  for (const char* text : {"", "3 5 7", "7 -> ", "3 x -> 5\n"}) EXPECT_EQ(environment.CanonicalProblem(text), text);
}

TEST(CountdownTest, RejectsNumbersThatWereNotGivenOrAreUsedTwice) {
  for (const char* action : {"22", "11+11", "3*7+1", "5+7+5+5", "3*5+7=22", "", "3*5"}) {
    const bool is_miss = std::string(action) == "3*5";
    EXPECT_EQ(AnswerTo(action).observation, is_miss ? "15\n" : "invalid\n") << action;
  }
}

TEST(CountdownTest, MakesTasksWhoseAnswerSolvesThem) {
  Countdown environment(4, 20);
  std::set<std::string> prompts;
  std::string operators;
  for (uint64_t prompt = 0; prompt < 300; ++prompt) {
    const TaskPlace place = {.seed = 2, .step = 1, .prompt = prompt};
    const data::Task task = environment.TaskAt(place).value();
    prompts.insert(task.prompt);
    operators += task.answer;
    ASSERT_OK_AND_ASSIGN(const Reply reply, environment.Step({.place = place, .task = task, .actions = {task.answer}}));
    EXPECT_TRUE(reply.done) << task.prompt << task.answer;
    EXPECT_EQ(reply.reward, 1);
    EXPECT_EQ(Calculate(task.answer)->numbers.size(), 4u) << task.answer;
    EXPECT_GT(Calculate(task.answer)->value.numerator, 0);
    EXPECT_EQ(Calculate(task.answer)->value.denominator, 1) << task.answer;
  }
  EXPECT_GT(prompts.size(), 290u);
  for (const char op : {'+', '-', '*', '/', '('}) EXPECT_NE(operators.find(op), std::string::npos) << op;
}

TEST(CountdownTest, MakesTasksOfTheGreatestNumbers) {
  const Countdown environment(16, 500'000);
  for (uint64_t prompt = 0; prompt < 2000; ++prompt) {
    const data::Task task = environment.TaskAt({.seed = 2, .step = 1, .prompt = prompt}).value();
    const std::optional<Calculation> calculation = Calculate(task.answer);
    ASSERT_TRUE(calculation.has_value()) << task.answer;
    const auto [value, denominator] = calculation->value;
    EXPECT_TRUE(value >= 1 && value <= 999'999 && denominator == 1) << task.answer;
  }
}

TEST(CountdownTest, DemonstratesTheAnswerOnce) {
  const Countdown environment(3, 10);
  Dialogue dialogue = {.task = {.prompt = "3 5 7 -> 22\n", .answer = "3*5+7"}};
  EXPECT_EQ(environment.Demonstrate(dialogue), "3*5+7");
  dialogue.actions = {"3*5+7"};
  EXPECT_EQ(environment.Demonstrate(dialogue), std::nullopt);
}

int64_t EvaluateExpression(const std::string& text) {
  const std::optional<Calculation> calculation = Calculate(text);
  return calculation && calculation->value.denominator == 1 ? calculation->value.numerator : -999;
}

TEST(ArithmeticTest, KnowsThePrecedenceOfOperators) {
  EXPECT_EQ(EvaluateExpression("7"), 7);
  EXPECT_EQ(EvaluateExpression("3+5*7"), 38);
  EXPECT_EQ(EvaluateExpression("(3+5)*7"), 56);
  EXPECT_EQ(EvaluateExpression("10-4-3"), 3);
  EXPECT_EQ(EvaluateExpression("24/4/2"), 3);
  EXPECT_EQ(EvaluateExpression(" ( 3 + 5 ) * ( 7 - 9 ) "), -16);
}

TEST(ArithmeticTest, ReturnsTheNumbersFromLeftToRight) {
  EXPECT_EQ(Calculate("25*(3+3)-100")->numbers, (std::vector<int64_t>{25, 3, 3, 100}));
}

TEST(ArithmeticTest, RejectsTextThatIsNotACalculation) {
  for (const char* text : {"", " ", "+", "3+", "(3", "3)", "3 5", "-3", "3--5", "a", "3x5", "7/0", "1/(2-2)", "()",
                           "3=3", "9999999999999", "1000000000*1000000000", "1/1000000000/1000000000", "3\n"}) {
    EXPECT_FALSE(Calculate(text).has_value()) << text;
  }
}

TEST(ArithmeticTest, DividesExactly) {
  EXPECT_EQ(Calculate("7/2")->value, (Fraction{7, 2}));
  EXPECT_EQ(Calculate("6/(2-10)")->value, (Fraction{-3, 4}));
  EXPECT_EQ(Calculate("1/3+1/6")->value, (Fraction{1, 2}));
  EXPECT_EQ(Calculate("0/7")->value, (Fraction{0, 1}));
  EXPECT_EQ(EvaluateExpression("1/4*4"), 1);
  EXPECT_EQ(EvaluateExpression("8/(3-8/3)"), 24);
  // Numerators and denominators on the way exceed 64 bits.
  EXPECT_EQ(EvaluateExpression("999999999999/999999999998*999999999998/999999999999"), 1);
}

RC_GTEST_PROP(ArithmeticTest, WhatIsDividedAndMultipliedByTheSameIsUnchanged, ()) {
  const int64_t a = *rc::gen::inRange(0, 1000), b = *rc::gen::inRange(1, 1000), c = *rc::gen::inRange(1, 1000);
  RC_ASSERT(EvaluateExpression(absl::StrCat(a, "/", b, "/", c, "*", b, "*", c)) == a);
  RC_ASSERT(EvaluateExpression(absl::StrCat("(", a, "/", b, "-", c, ")*", b)) == a - b * c);
}

TEST(ArithmeticTest, BoundsTheDepthOfParentheses) {
  EXPECT_TRUE(Calculate(std::string(64, '(') + "1" + std::string(64, ')')).has_value());
  EXPECT_FALSE(Calculate(std::string(65, '(') + "1" + std::string(65, ')')).has_value());
  EXPECT_FALSE(Calculate(std::string(100000, '(')).has_value());
}

RC_GTEST_PROP(ArithmeticTest, AgreesWithTheProcessorOnSumsOfProducts, ()) {
  const auto terms = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 1000), rc::gen::inRange(0, 1000)));
  std::string text = "0";
  int64_t value = 0;
  for (const auto& [a, b] : terms) {
    absl::StrAppend(&text, (a + b) % 2 == 0 ? "+" : "-", a, "*", b);
    value += (a + b) % 2 == 0 ? int64_t{a} * b : -int64_t{a} * b;
  }
  RC_ASSERT(Calculate(text).has_value());
  RC_ASSERT(Calculate(text)->value == (Fraction{value, 1}));
}

}  // namespace

}  // namespace reprise::rl
