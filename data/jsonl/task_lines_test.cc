#include "data/jsonl/task_lines.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGood[] = "{\"prompt\": \"1+2=\", \"answer\": \"3\"}\n";

std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<std::vector<Task>> tasks = ParseTaskLines(text, "d.jsonl");
  EXPECT_EQ(tasks.status().code(), absl::StatusCode::kDataLoss);
  return std::string(tasks.status().message());
}

TEST(ParseTaskLinesTest, GivesOneTaskALineAndKeepsOtherMembers) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Task> tasks,
      ParseTaskLines(absl::StrCat(kGood, "{\"id\": [1, {}], \"answer\": \"\", \"prompt\": \"\\u00e4\\n\"} \r\n"),
                     "d.jsonl"));
  EXPECT_EQ(tasks, (std::vector<Task>{{"1+2=", "3", 1}, {"\xc3\xa4\n", "", 2, true, "{\"id\":[1,{}]}"}}));
}

TEST(ParseTaskLinesTest, TheAnswerMayBeMissing) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Task> tasks,
      ParseTaskLines("{\"prompt\": \"a\", \"x\": 1.50}\n{\"answer\": null, \"prompt\": \"b\"}\n", "d.jsonl"));
  EXPECT_EQ(tasks, (std::vector<Task>{{"a", "", 1, false, "{\"x\":1.5}"}, {"b", "", 2, false}}));
}

TEST(ParseTaskLinesTest, NamesTheLineOfEveryFault) {
  const auto second = [](absl::string_view line) { return ErrorOf(absl::StrCat(kGood, line)); };
  EXPECT_THAT(second("{\"prompt\": \"a\", \"answer\": \"b\"\n"), StartsWith("d.jsonl:2: not valid JSON: "));
  EXPECT_THAT(second("\n"), StartsWith("d.jsonl:2: not valid JSON: "));
  EXPECT_THAT(second("{} {}\n"), StartsWith("d.jsonl:2: not valid JSON: "));
  EXPECT_THAT(second("{\"prompt\": \"\xff\", \"answer\": \"b\"}\n"), StartsWith("d.jsonl:2: not valid JSON: "));
  EXPECT_THAT(second("{\"prompt\": \"a\", \"answer\": \"b\", \"x\": NaN}\n"),
              StartsWith("d.jsonl:2: not valid JSON: "));
  EXPECT_EQ(second("[]\n"), "d.jsonl:2: (root): expected an object, found an array");
  EXPECT_EQ(second("{\"answer\": \"a\"}\n"), "d.jsonl:2: /prompt is missing");
  EXPECT_EQ(second("{\"prompt\": \"a\", \"answer\": 3}\n"), "d.jsonl:2: /answer: expected a string, found a number");
  EXPECT_EQ(second("{\"prompt\": \"\", \"answer\": \"b\"}\n"), "d.jsonl:2: /prompt: expected a text that is not empty");
  EXPECT_EQ(second("{\"prompt\": \"a\", \"answer\": \"b\", \"prompt\": \"c\"}\n"),
            "d.jsonl:2: /prompt: the key appears twice");
}

TEST(ParseTaskLinesTest, RefusesDepthAndLengthBeyondTheirLimits) {
  const auto nested = [](int depth) {
    return absl::StrCat("{\"prompt\": \"a\", \"answer\": \"b\", \"x\": ", std::string(depth, '['),
                        std::string(depth, ']'), "}\n");
  };
  EXPECT_OK(ParseTaskLines(nested(60), "d.jsonl"));
  EXPECT_THAT(ErrorOf(nested(64)), StartsWith("d.jsonl:1: not valid JSON: "));
  EXPECT_EQ(ErrorOf(absl::StrCat(std::string(kMaxLineBytes + 1, ' '), "\n")),
            "d.jsonl:1: the line has 67108865 bytes; expected at most 67108864");
}

TEST(ParseTaskLinesTest, TakesALastLineWithoutNewlineForATruncatedFile) {
  EXPECT_EQ(
      ErrorOf(absl::StrCat(kGood, "{\"prompt\": \"a\", \"answer\": \"b\"}")),
      "d.jsonl:2: the last line does not end with a newline: the file may be truncated; if it is complete, end it "
      "with one");
}

TEST(ParseTaskLinesTest, RefusesAFileWithoutProblems) { EXPECT_EQ(ErrorOf(""), "d.jsonl: it holds no problem"); }

RC_GTEST_PROP(ParseTaskLinesPropertyTest, ReadsWhatAJsonLibraryWrites,
              (const std::vector<std::pair<std::string, std::string>>& texts)) {
  std::string lines;
  std::vector<Task> expected;
  for (const auto& [prompt, answer] : texts) {
    // The replaced text is what the library writes where bytes are no UTF-8.
    const std::string line = nlohmann::json({{"prompt", "p" + prompt}, {"answer", answer}})
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const nlohmann::json back = nlohmann::json::parse(line);
    expected.push_back({back["prompt"], back["answer"], static_cast<int64_t>(expected.size()) + 1});
    lines += line + "\n";
  }
  const absl::StatusOr<std::vector<Task>> tasks = ParseTaskLines(lines, "d.jsonl");
  RC_ASSERT(tasks.ok() == !texts.empty());
  if (tasks.ok()) RC_ASSERT(*tasks == expected);
}

}  // namespace
}  // namespace reprise::data
