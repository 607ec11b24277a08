#include "rl/workloads/memory_agent/state_text.h"

#include <bit>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using List = std::vector<std::string>;

TEST(StateTextTest, JoinsPairsInTheOrderInWhichTheyWereAdded) {
  EXPECT_EQ(StateText({}), "");
  EXPECT_EQ(StateText({{"operation", "add"}, {"step", int64_t{0}}}), "operation: add; step: 0");
  EXPECT_EQ(StateText({{"operation", "pending"},
                       {"step", int64_t{2}},
                       {"total_steps", int64_t{5}},
                       {"plan", "Keep it short."},
                       {"history", List{"add", "retrieve"}}}),
            "operation: pending; step: 2; total_steps: 5; plan: Keep it short.; history: ['add', 'retrieve']");
}

TEST(StateTextTest, WritesIntegersTextsBooleansAndNone) {
  EXPECT_EQ(PythonStr(int64_t{-7}), "-7");
  EXPECT_EQ(PythonStr(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(PythonStr("it's \"raw\"; 1\n"), "it's \"raw\"; 1\n");
  EXPECT_EQ(PythonStr(true), "True");
  EXPECT_EQ(PythonStr(false), "False");
  EXPECT_EQ(PythonStr(StateValue()), "None");
}

TEST(StateTextTest, WritesListsAsPythonDoes) {
  EXPECT_EQ(PythonStr(List{}), "[]");
  EXPECT_EQ(PythonStr(List{"add", "retrieve"}), "['add', 'retrieve']");
  EXPECT_EQ(PythonStr(List{"", ""}), "['', '']");
  EXPECT_EQ(PythonStr(List{"it's"}), R"(["it's"])");
  EXPECT_EQ(PythonStr(List{R"(say "hi")"}), R"(['say "hi"'])");
  EXPECT_EQ(PythonStr(List{R"(both ' and ")"}), R"(['both \' and "'])");
  EXPECT_EQ(PythonStr(List{R"(back\slash)"}), R"(['back\\slash'])");
  EXPECT_EQ(PythonStr(List{"a\nb\tc\rd"}), R"(['a\nb\tc\rd'])");
  EXPECT_EQ(PythonStr(List{"\x01\x7f"}), R"(['\x01\x7f'])");
  EXPECT_EQ(PythonStr(List{"\xc3\xa9"}), "['\xc3\xa9']");
}

// What Python 3 prints for these numbers.
TEST(StateTextTest, WritesFloatsAsPythonDoes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, std::string>> cases = {{0.0, "0.0"},
                                                             {-0.0, "-0.0"},
                                                             {1.0, "1.0"},
                                                             {100.0, "100.0"},
                                                             {0.1, "0.1"},
                                                             {1.5, "1.5"},
                                                             {3.14, "3.14"},
                                                             {1.0 / 3, "0.3333333333333333"},
                                                             {123456.789, "123456.789"},
                                                             {0.001, "0.001"},
                                                             {1e-4, "0.0001"},
                                                             {9.999e-5, "9.999e-05"},
                                                             {1e-5, "1e-05"},
                                                             {-2.5e-7, "-2.5e-07"},
                                                             {1e15, "1000000000000000.0"},
                                                             {9007199254740993.0, "9007199254740992.0"},
                                                             {9999999999999998.0, "9999999999999998.0"},
                                                             {1e16, "1e+16"},
                                                             {123456789012345680.0, "1.2345678901234568e+17"},
                                                             {1e22, "1e+22"},
                                                             {5e-324, "5e-324"},
                                                             {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                             {kInfinity, "inf"},
                                                             {-kInfinity, "-inf"},
                                                             {std::numeric_limits<double>::quiet_NaN(), "nan"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(PythonStr(value), text);
}

RC_GTEST_PROP(StateTextTest, FloatsReadBackAsTheSameNumber, (int64_t bits)) {
  const double value = std::bit_cast<double>(bits);
  RC_PRE(value == value);
  RC_ASSERT(std::bit_cast<int64_t>(std::strtod(PythonStr(value).c_str(), nullptr)) == bits);
}

}  // namespace
}  // namespace reprise::rl
