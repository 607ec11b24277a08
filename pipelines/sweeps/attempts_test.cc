#include "pipelines/sweeps/attempts.h"

#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kBegan[] = "began 000000ab -1\n";

TEST(AttemptsTest, ADeathAloneWithoutANewStepIsLostAndOneBesideOthersIsOnlySuspect) {
  const Attempts alone = ReadAttempts("began 000000ab 4\ndied 000000ab 4 alone\n");
  EXPECT_EQ(alone.lost, 1);
  EXPECT_TRUE(alone.is_suspect);
  EXPECT_EQ(alone.end, Attempts::kDied);
  EXPECT_EQ(alone.execution, 0xabu);
  const Attempts beside = ReadAttempts("began 000000ab 4\ndied 000000ab 4 beside\n");
  EXPECT_EQ(beside.lost, 0);
  EXPECT_TRUE(beside.is_suspect);
}

TEST(AttemptsTest, AnAttemptThatCommittedAStepClearsTheTrialHoweverItEnded) {
  const std::string lost = "began 000000ab 4\ndied 000000ab 4 alone\nbegan 000000ac 4\n";
  for (const std::string end : {"died 000000ac 5 alone\n", "died 000000ac 5 beside\n", "stopped 000000ac 5\n"}) {
    const Attempts attempts = ReadAttempts(lost + end);
    EXPECT_EQ(attempts.lost, 0) << end;
    EXPECT_FALSE(attempts.is_suspect) << end;
  }
}

TEST(AttemptsTest, AStopInOrderNeitherCountsNorClears) {
  const Attempts attempts =
      ReadAttempts("began 000000ab 4\ndied 000000ab 4 alone\nbegan 000000ac 4\nstopped 000000ac 4\n");
  EXPECT_EQ(attempts.lost, 1);
  EXPECT_TRUE(attempts.is_suspect);
  EXPECT_EQ(attempts.end, Attempts::kStopped);
}

TEST(AttemptsTest, AnOlderExecutionThatLivesOnDoesNotEndTheNewOnesAttempt) {
  const Attempts attempts = ReadAttempts("began 000000ab -1\nbegan 000000ac -1\nstopped 000000ab 7\n");
  EXPECT_EQ(attempts.end, Attempts::kOpen);
  EXPECT_EQ(attempts.execution, 0xacu);
}

TEST(AttemptsTest, PartsOfLinesAreSkipped) {
  for (const std::string line : {"", "died 000000ab 4", "died 000000ab", "died 000000ab 4 alon", "died ab 4 alone",
                                 "died 000000ab four alone", "gone 000000ab 4", "stopped 000000ab 4 alone"}) {
    EXPECT_EQ(ReadAttempts(kBegan + line + "\n").end, Attempts::kOpen) << line;
  }
  EXPECT_EQ(ReadAttempts("began 000000ab -1\nstopped 000000ab 4").end, Attempts::kOpen) << "not written to its end";
  EXPECT_EQ(ReadAttempts("").end, Attempts::kNone);
}

TEST(AttemptsTest, EveryEntrySurvivesALossOfPowerAsSoonAsItIsMade) {
  FakeFileSystem files;
  ASSERT_OK(BeginAttempt(files, "sweep/trials/a", 7, -1));
  files.LosePower();
  ASSERT_OK_AND_ASSIGN(Attempts attempts, LoadAttempts(files, "sweep/trials/a"));
  EXPECT_EQ(attempts.end, Attempts::kOpen);
  EXPECT_EQ(attempts.step, -1);
  ASSERT_OK(NoteDeath(files, "sweep/trials/a", 7, -1, /*alone=*/true));
  files.LosePower();
  ASSERT_OK_AND_ASSIGN(attempts, LoadAttempts(files, "sweep/trials/a"));
  EXPECT_EQ(attempts.lost, 1);
  ASSERT_OK(ForgetAttempts(files, "sweep/trials/a"));
  ASSERT_OK(ForgetAttempts(files, "sweep/trials/a"));
  ASSERT_OK_AND_ASSIGN(attempts, LoadAttempts(files, "sweep/trials/a"));
  EXPECT_EQ(attempts.end, Attempts::kNone);
}

TEST(AttemptsTest, AnEntryAfterATornOneIsRead) {
  FakeFileSystem files;
  ASSERT_OK(BeginAttempt(files, "a", 7, 2));
  const int64_t before = files.calls();
  ASSERT_OK(NoteDeath(files, "a", 7, 2, /*alone=*/true));
  int64_t write = before;
  while (files.log()[write] != "write a/attempts.log") ++write;

  FakeFileSystem torn;
  ASSERT_OK(BeginAttempt(torn, "a", 7, 2));
  torn.Kill(write, /*torn=*/true);
  EXPECT_FALSE(NoteDeath(torn, "a", 7, 2, /*alone=*/true).ok());
  torn.Restart();
  ASSERT_OK(NoteDeath(torn, "a", 7, 2, /*alone=*/true));
  ASSERT_OK_AND_ASSIGN(const Attempts attempts, LoadAttempts(torn, "a"));
  EXPECT_EQ(attempts.lost, 1);
}

TEST(AttemptsTest, ATrialThatIsGivenUpSaysWhyAndHowItIsTriedAgain) {
  EXPECT_EQ(GivenUp(3).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(GivenUp(3).message(), HasSubstr("3 attempts in a row ended with the death of the process"));
  EXPECT_THAT(GivenUp(3).message(), HasSubstr("sweep --attempts 4 tries it again"));
}

}  // namespace
}  // namespace reprise
