#include "core/process/child_process.h"

#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::unique_ptr<ChildProcess> Started(const std::string& command) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(command);
  EXPECT_OK(process.status());
  return *std::move(process);
}

absl::Status FirstExchange(const std::string& command, double seconds = 5) {
  return Started(command)->Exchange("question", seconds).status();
}

TEST(ChildProcessTest, AnswersLineByLine) {
  const auto process = Started("cat");
  for (const std::string line : {"a", "", "{\"b\": 1}"}) {
    ASSERT_OK_AND_ASSIGN(const std::string reply, process->Exchange(line, 5));
    EXPECT_EQ(reply, line);
  }
}

TEST(ChildProcessTest, PassesLongLinesBothWays) {
  const auto process = Started("cat");
  const std::string line(3'000'000, 'x');
  ASSERT_OK_AND_ASSIGN(const std::string reply, process->Exchange(line, 20));
  EXPECT_EQ(reply, line);
}

TEST(ChildProcessTest, TellsHowAProcessEnded) {
  constexpr auto kAborted = absl::StatusCode::kAborted;
  EXPECT_THAT(FirstExchange("read line; exit 3"), StatusIs(kAborted, "exited with code 3"));
  EXPECT_THAT(FirstExchange("exit 0"), StatusIs(kAborted, "exited with code 0"));
  EXPECT_THAT(FirstExchange("read line; kill -9 $$"), StatusIs(kAborted, "was killed by signal 9"));
  EXPECT_THAT(FirstExchange("read line; printf half; exit 4"),
              StatusIs(kAborted, "exited with code 4 after half a line"));
  EXPECT_THAT(FirstExchange("no_such_program_anywhere 2>/dev/null"), StatusIs(kAborted, "exited with code 127"));
}

TEST(ChildProcessTest, SurvivesAProcessThatDoesNotReadItsInput) {
  EXPECT_THAT(Started("exec 0<&-; exit 5")->Exchange(std::string(1'000'000, 'x'), 5),
              StatusIs(absl::StatusCode::kAborted, "exited with code 5"));
}

TEST(ChildProcessTest, WaitsNoLongerThanItIsTold) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(FirstExchange("read line; sleep 60", 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "gave no reply within 0.2 seconds"));
  EXPECT_THAT(FirstExchange("read line; printf half; sleep 60", 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "gave no reply within 0.2 seconds, only half a line"));
  EXPECT_THAT(Started("sleep 60")->Exchange(std::string(1'000'000, 'x'), 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no reply")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ChildProcessTest, RefusesWhatItDidNotAskFor) {
  const auto process = Started("echo hello; cat");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(process->Exchange("a", 5), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not asked for")));
  EXPECT_THAT(FirstExchange("read line; printf 'a\\nb\\n'; sleep 60"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not asked for")));
}

// Whether the process is there and no zombie.
bool Lives(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

TEST(ChildProcessTest, LeavesNoProcessBehind) {
  pid_t grandchild = 0;
  {
    const auto process = Started("read line; sleep 1000 & echo $!; wait");
    ASSERT_OK_AND_ASSIGN(const std::string pid, process->Exchange("", 5));
    grandchild = static_cast<pid_t>(std::stoi(pid));
    EXPECT_TRUE(Lives(grandchild));
  }
  for (int i = 0; i < 500 && Lives(grandchild); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(Lives(grandchild));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie of ours";
}

}  // namespace
}  // namespace reprise
