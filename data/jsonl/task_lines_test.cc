#include "data/jsonl/task_lines.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kForm[] = "expected one JSON object per line, as {\"prompt\": \"12+7=\", \"answer\": \"19\"}";
constexpr char kGood[] = "{\"prompt\": \"1+2=\", \"answer\": \"3\"}\n";

std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<std::vector<Task>> tasks = ParseTaskLines(text, "d.jsonl");
  EXPECT_EQ(tasks.status().code(), absl::StatusCode::kDataLoss);
  return std::string(tasks.status().message());
}

// Returns the peak memory of this process so far, in bytes.
int64_t PeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

TEST(ParseTaskLinesTest, GivesOneTaskPerLineAndKeepsOtherMembers) {
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
  EXPECT_EQ(tasks, (std::vector<Task>{{"a", "", 1, false, "{\"x\":1.50}"}, {"b", "", 2, false}}));
}

TEST(ParseTaskLinesTest, NamesTheLineOfEveryError) {
  const auto second = [](absl::string_view line) { return ErrorOf(absl::StrCat(kGood, line)); };
  EXPECT_THAT(second("{\"prompt\": \"a\", \"answer\": \"b\"\n"), StartsWith("d.jsonl:2:30: not valid JSON: "));
  EXPECT_THAT(second("{} {}\n"), StartsWith("d.jsonl:2:4: not valid JSON: "));
  EXPECT_THAT(second("{\"prompt\": \"\xff\", \"answer\": \"b\"}\n"), StartsWith("d.jsonl:2:13: not valid JSON: "));
  EXPECT_THAT(second("{\"prompt\": \"a\", \"answer\": \"b\", \"x\": nan}\n"),
              AllOf(StartsWith("d.jsonl:2:38: not valid JSON: "), EndsWith(kForm)));
  EXPECT_EQ(second("{\"prompt\": \"a\", \"answer\": NaN}\n"),
            "d.jsonl:2:27: /answer: NaN is no number in JSON: write null or a finite number");
  EXPECT_THAT(second("{\"prompt\": \"a\\ud83d\"}\n"),
              StartsWith("d.jsonl:2:12: /prompt: the text has \\ud83d, which is half of a surrogate pair"));
  EXPECT_EQ(second("[]\n"), absl::StrCat("d.jsonl:2:1: this is not an object; ", kForm));
  EXPECT_EQ(second("{\"prompt\": \"\", \"answer\": \"b\"}\n"), "d.jsonl:2:12: \"prompt\" is empty; expected a string");
  EXPECT_EQ(second("{\"pr\\u006fmpt\": \"\", \"answer\": \"b\"}\n"),
            "d.jsonl:2:1: \"prompt\" is empty; expected a string");
  EXPECT_EQ(second("{\"prompt\": \"a\", \"answer\": \"b\", \"prompt\": \"c\"}\n"),
            absl::StrCat("d.jsonl:2:1: /prompt: the key appears twice; ", kForm));
}

TEST(ParseTaskLinesTest, ListsTheFieldsOfALineAndWhatIsExpected) {
  EXPECT_EQ(ErrorOf("{\"question\": \"a\", \"solu\\u001btion\": \"b\"}\n"),
            absl::StrCat("d.jsonl:1:1: \"prompt\" is missing; the line has \"question\", \"solu\\x1btion\"; ", kForm,
                         "; ./reprise prepare data makes such a file of another data set (docs/guides/own_data.md)"));
  EXPECT_EQ(ErrorOf("{}\n"), absl::StrCat("d.jsonl:1:1: \"prompt\" is missing: the object is empty; ", kForm));
  EXPECT_EQ(ErrorOf("{\"answer\": \"b\", \"prompt\": null}\n"),
            absl::StrCat("d.jsonl:1:27: \"prompt\" is null; the line has \"answer\", \"prompt\"; ", kForm));
  EXPECT_EQ(ErrorOf("{\"prompt\": \"a\", \"answer\":   -3.50 }\n"),
            "d.jsonl:1:29: \"answer\" is a number; expected a string: write it in quotes, as \"answer\": \"-3.50\"");
  EXPECT_THAT(ErrorOf("{\"answer\": \"b\", \"prompt\": [{\"role\": \"user\", \"content\": \"a\"}]}\n"),
              AllOf(StartsWith("d.jsonl:1:27: \"prompt\" is a list; expected the text that the model reads: "),
                    HasSubstr("./reprise prepare data FILE --model DIR")));
  EXPECT_EQ(ErrorOf("{\"prompt\": \"a\", \"answer\": {}}\n"),
            absl::StrCat("d.jsonl:1:27: \"answer\" is an object; expected a string; ", kForm));
}

TEST(ParseTaskLinesTest, NamesTheFormatThatAFileSeemsToHave) {
  for (const auto& [text, reported] : std::vector<std::pair<std::string, std::string>>{
           {"prompt,answer\n1+2=,3\n", "this looks like CSV: convert it, for example in Python with pandas.read_csv("},
           {"prompt\tanswer\n", "this looks like CSV"},
           {"[\n", "this looks like a JSON array: write one element per line"},
           {"[{\"prompt\": \"a\", \"answer\": \"b\"}]\n", "this looks like a JSON array"},
           {"{\n", "an object must not span several lines"},
           {"- prompt: a\n", "this looks like YAML"},
           {"PAR1\x15\n", "this looks like Parquet: convert it"},
           {"\x1f\x8b\x08\n", "this looks like a file compressed by gzip: unpack it"},
           {std::string("\xff\xfe{\0\"\0p\0,\0\n\0", 12), "this looks like UTF-16: convert it, for example with iconv"},
           {std::string("\0{\0\"\0p\0,\0\n", 10), "this looks like UTF-16"},
           {std::string("{\0\"\0p\0,\0\n\0", 10), "this looks like UTF-16"},
           {std::string("\xfd"
                        "7zXZ\0\0\x04\n",
                        9),
            "this looks like a file compressed by xz"},
           {"\x1e{\"prompt\": \"a\"}\n", "this looks like a JSON text sequence"},
           {std::string("\0\0\0\0\n", 5), "this looks like a binary file"},
           {"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n", "this is a pointer of Git LFS"},
           {"<!DOCTYPE html>\n", "this is a web page"}}) {
    EXPECT_THAT(ErrorOf(text), AllOf(StartsWith("d.jsonl:1:"), HasSubstr(kForm), HasSubstr(reported)));
  }
}

TEST(ReadTaskFileTest, ReadsAFilePieceByPieceLikeAText) {
  FakeFileSystem files;
  std::string text;
  while (text.size() < (size_t{5} << 19)) {  // more than two pieces, cut anywhere
    text += absl::StrCat("{\"prompt\": \"", std::string(text.size() % 997 + 1, 'p'), "\", \"answer\": \"\"}\n");
  }
  ASSERT_OK(WriteFileAtomically(files, "d.jsonl", text));
  ASSERT_OK_AND_ASSIGN(const TaskFile file, ReadTaskFile(files, "d.jsonl"));
  EXPECT_EQ(file.tasks, *ParseTaskLines(text, "d.jsonl"));
  EXPECT_EQ(file.sha256, Sha256(text));
}

// A very large sparse file.
TEST(ReadTaskFileTest, HoldsAtMostOneLineOfARefusedFile) {
  const int64_t before = PeakMemory();
  const std::string path = absl::StrCat(::testing::TempDir(), "/long.jsonl");
  ASSERT_EQ(truncate((std::ofstream(path).close(), path.c_str()), int64_t{1} << 36), 0);  // zeros, none of them stored
  EXPECT_THAT(ReadTaskFile(PosixFileSystem(), path),
              StatusIs(absl::StatusCode::kDataLoss,
                       absl::StrCat(path, ":1:1: the line has more than 67108864 bytes; ", kForm)));
  EXPECT_LT(PeakMemory() - before, int64_t{300} << 20);
}

TEST(ParseTaskLinesTest, RefusesDepthAndLengthBeyondTheirLimits) {
  const auto nested = [](int depth) {
    return absl::StrCat("{\"prompt\": \"a\", \"answer\": \"b\", \"x\": ", std::string(depth, '['),
                        std::string(depth, ']'), "}\n");
  };
  EXPECT_OK(ParseTaskLines(nested(60), "d.jsonl"));
  EXPECT_THAT(ErrorOf(nested(64)), StartsWith("d.jsonl:1:1: not valid JSON: "));
  EXPECT_EQ(ErrorOf(absl::StrCat(std::string(kMaxLineBytes + 1, ' '), "\n")),
            absl::StrCat("d.jsonl:1:1: the line has more than 67108864 bytes; ", kForm));
}

TEST(ParseTaskLinesTest, KeepsNumbersAsTheyAreWritten) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Task> tasks,
                       ParseTaskLines("{\"n\": 123456789012345678901234567890, \"prompt\": \"a\", \"w\": [ -1e-7 ]}\n"
                                      "{\"prompt\": \"b\", \"n\": 18446744073709551616}\n",
                                      "d.jsonl"));
  EXPECT_EQ(tasks[0].more, "{\"n\":123456789012345678901234567890,\"w\":[-1e-7]}");
  EXPECT_EQ(tasks[1].more, "{\"n\":18446744073709551616}");
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Task> others,
      ParseTaskLines("{\"n\": 1e400, \"prompt\": \"a\", \"w\": [ NaN ], \"s\": \"\\ud800\", \"\\ud800\": -Infinity}\n",
                     "d.jsonl"));
  EXPECT_EQ(others[0].more, "{\"n\":1e400,\"w\":[NaN],\"s\":\"\\ud800\",\"\\ud800\":-Infinity}");
}

TEST(ParseTaskLinesTest, ReadsFilesAsEditorsAndProgramsEndThem) {
  const std::vector<Task> expected = {{"1+2=", "3", 1}, {"a", "b", 3}};
  constexpr char kLast[] = "{\"prompt\": \"a\", \"answer\": \"b\"}";
  for (const std::string& text :
       {absl::StrCat(kGood, "\n", kLast), absl::StrCat(kGood, " \r\n", kLast, "\r\n"),
        absl::StrCat("\xef\xbb\xbf", kGood, "\n", kLast, "\n\n\r\n \t\n"), absl::StrCat(kGood, "\n", kLast, "\n  ")}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Task> tasks, ParseTaskLines(text, "d.jsonl"));
    EXPECT_EQ(tasks, expected) << text;
  }
  EXPECT_THAT(ErrorOf(absl::StrCat("\n\n", kGood, "\n{]\n")), StartsWith("d.jsonl:5:2: not valid JSON: "));
}

TEST(ParseTaskLinesTest, SaysThatAFileMayBeTruncatedWhereItsLastLineIsBroken) {
  EXPECT_THAT(
      ErrorOf(absl::StrCat(kGood, "{\"prompt\": \"a\", \"ans")),
      AllOf(StartsWith("d.jsonl:2:21: not valid JSON: "), EndsWith("; no newline follows: the file may be truncated")));
}

TEST(ParseTaskLinesTest, DistinguishesAnotherFormatFromATruncatedFile) {
  EXPECT_THAT(ErrorOf("[{\"prompt\": \"a\", \"answer\": \"b\"}]"),
              AllOf(StartsWith("d.jsonl:1:1: this is not an object"), HasSubstr("looks like a JSON array")));
  EXPECT_EQ(ErrorOf("PAR1\xff..."),
            absl::StrCat("d.jsonl:1:5: not valid JSON; ", kForm,
                         "; this looks like Parquet: convert it, for example in Python with "
                         "pandas.read_parquet(\"FILE\").to_json(\"FILE.jsonl\", orient=\"records\", lines=True)"));
}

TEST(ParseTaskLinesTest, RefusesAFileWithoutProblems) {
  for (const char* text : {"", "\n", "\n \n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(ErrorOf(text), absl::StrCat("d.jsonl: it holds no problem; ", kForm));
  }
}

RC_GTEST_PROP(ParseTaskLinesPropertyTest, ReadsWhatAJsonLibraryWrites,
              (const std::vector<std::pair<std::string, std::string>>& texts)) {
  std::string lines;
  std::vector<Task> expected;
  for (const auto& [prompt, answer] : texts) {
    // If bytes are not UTF-8, the library writes the replaced text.
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
