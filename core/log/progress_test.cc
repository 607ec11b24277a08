#include "core/log/progress.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;

TEST(FormatDurationTest, UsesTheTwoLargestUnits) {
  EXPECT_EQ(FormatDuration(0), "0 s");
  EXPECT_EQ(FormatDuration(14.9), "14 s");
  EXPECT_EQ(FormatDuration(60), "1 min");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(3600), "1 h");
  EXPECT_EQ(FormatDuration(2 * 3600 + 5 * 60 + 59), "2 h 5 min");
  EXPECT_EQ(FormatDuration(76 * 3600), "3 d 4 h");
  EXPECT_EQ(FormatDuration(1e300), FormatDuration(1e15));
}

TEST(FormatProgressTest, ShowsStepDetailRateAndRemainingTime) {
  EXPECT_EQ(FormatProgress(120, 300, "reward 0.83", 12.34), "step 120/300  reward 0.83  12.3 steps/s  14 s left");
  EXPECT_EQ(FormatProgress(1, 3, "reward 0.83", 0.4), "step 1/3  reward 0.83  2.5 s/step  5 s left");
  EXPECT_EQ(FormatProgress(1, 3, "", 0.4, "trial"), "trial 1/3  2.5 s/trial  5 s left");
}

TEST(FormatProgressTest, OmitsUnknownValues) {
  EXPECT_EQ(FormatProgress(0, 300, "", 0), "step 0/300");
  EXPECT_EQ(FormatProgress(300, 300, "reward 1", 2), "step 300/300  reward 1  2.0 steps/s");
}

// Updates steps first + 1 to steps, one every `seconds`, and returns the output.
std::string Written(int columns, const ProgressOptions& options, double seconds) {
  std::FILE* file = std::tmpfile();
  {
    Logger logger({.stream = file, .columns = columns});
    double now = 1000;
    Progress progress(options, &logger, [&] { return now; });
    for (int64_t step = options.first_step + 1; step <= options.steps; ++step) {
      now += seconds;
      progress.Update(step, "");
    }
  }
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  const size_t read = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return text.substr(0, read);
}

std::vector<std::string> LinesWritten(const ProgressOptions& options, double seconds) {
  return absl::StrSplit(Written(/*columns=*/0, options, seconds), '\n', absl::SkipEmpty());
}

TEST(ProgressTest, WritesFewLinesWithoutATerminalAndAlwaysTheFirstAndTheLast) {
  EXPECT_THAT(LinesWritten({.steps = 25}, 1),
              ElementsAre("step 1/25  1.0 steps/s  24 s left", "step 11/25  1.0 steps/s  14 s left",
                          "step 21/25  1.0 steps/s  4 s left", "step 25/25  1.0 steps/s"));
}

TEST(ProgressTest, WritesALineAfterEveryGivenNumberOfSteps) {
  EXPECT_THAT(
      LinesWritten({.steps = 5, .log_every = 2}, 60),
      ElementsAre("step 2/5  60.0 s/step  3 min left", "step 4/5  60.0 s/step  1 min left", "step 5/5  60.0 s/step"));
}

TEST(ProgressTest, CountsOnlyItsOwnStepsInTheRateOfAResumedRun) {
  EXPECT_THAT(LinesWritten({.first_step = 1000, .steps = 1002, .log_every = 1}, 0.5),
              ElementsAre("step 1001/1002  2.0 steps/s  0 s left", "step 1002/1002  2.0 steps/s"));
}

TEST(ProgressTest, RewritesOneLineOnATerminalAndLeavesTheLast) {
  EXPECT_EQ(Written(80, {.steps = 3}, 1),
            "\r\x1b[Kstep 1/3  1.0 steps/s  2 s left\r\x1b[Kstep 2/3  1.0 steps/s  1 s left"
            "\r\x1b[Kstep 3/3  1.0 steps/s\n");
}

TEST(ProgressTest, RewritesATerminalAtMostTenTimesASecond) {
  const std::string text = Written(80, {.steps = 1000}, 1.0 / 1024);
  EXPECT_LE(std::vector<std::string>(absl::StrSplit(text, '\r')).size(), 13u);
}

TEST(ProgressTest, FollowsARateThatChanges) {
  double now = 0;
  std::FILE* file = std::tmpfile();
  Logger logger({.stream = file, .columns = 0});
  Progress progress({.steps = 300, .log_every = 300}, &logger, [&] { return now; });
  for (int64_t step = 1; step <= 300; ++step) {
    now += step <= 200 ? 100 : 1;  // the slow steps no longer count after 64 faster ones
    progress.Update(step, "");
  }
  std::rewind(file);
  char line[100] = {};
  ASSERT_NE(std::fgets(line, sizeof(line), file), nullptr);
  std::fclose(file);
  EXPECT_STREQ(line, "step 300/300  1.0 steps/s\n");
}

TEST(ProgressTest, ReportsNoRateWhileTheClockDoesNotAdvance) {
  EXPECT_THAT(LinesWritten({.steps = 2, .log_every = 1}, 0), ElementsAre("step 1/2", "step 2/2"));
}

}  // namespace
}  // namespace reprise
