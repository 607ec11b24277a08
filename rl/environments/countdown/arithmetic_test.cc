#include "rl/environments/countdown/arithmetic.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

int64_t ValueOf(const std::string& text) {
  const std::optional<Calculation> calculation = Calculate(text);
  return calculation ? calculation->value : -999;
}

TEST(ArithmeticTest, KnowsThePrecedenceOfOperators) {
  EXPECT_EQ(ValueOf("7"), 7);
  EXPECT_EQ(ValueOf("3+5*7"), 38);
  EXPECT_EQ(ValueOf("(3+5)*7"), 56);
  EXPECT_EQ(ValueOf("10-4-3"), 3);
  EXPECT_EQ(ValueOf("24/4/2"), 3);
  EXPECT_EQ(ValueOf(" ( 3 + 5 ) * ( 7 - 9 ) "), -16);
}

TEST(ArithmeticTest, ReturnsTheNumbersFromLeftToRight) {
  EXPECT_EQ(Calculate("25*(3+3)-100")->numbers, (std::vector<int64_t>{25, 3, 3, 100}));
}

TEST(ArithmeticTest, RejectsTextThatIsNotACalculation) {
  for (const char* text : {"", " ", "+", "3+", "(3", "3)", "3 5", "-3", "3--5", "a", "3x5", "7/2", "7/0", "()", "3=3",
                           "9999999999999", "1000000000*1000000000", "3\n"}) {
    EXPECT_FALSE(Calculate(text).has_value()) << text;
  }
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
  RC_ASSERT(Calculate(text)->value == value);
}

}  // namespace
}  // namespace reprise::rl
