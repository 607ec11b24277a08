#include "core/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST(ChildProcessTest, ReportsHowAProcessEnded) {
  constexpr auto kAborted = absl::StatusCode::kAborted;
  EXPECT_THAT(FirstExchange("read line; exit 3"), StatusIs(kAborted, "exited with code 3"));
  EXPECT_THAT(FirstExchange("exit 0"), StatusIs(kAborted, "exited with code 0"));
  EXPECT_THAT(FirstExchange("read line; kill -9 $$"), StatusIs(kAborted, "was killed by signal 9"));
  EXPECT_THAT(FirstExchange("read line; printf half; exit 4"),
              StatusIs(kAborted, "exited with code 4 after an incomplete line"));
  EXPECT_THAT(
      FirstExchange("no_such_program_anywhere 2>/dev/null"),
      StatusIs(absl::StatusCode::kNotFound, "exited with code 127, which means that the shell found no such program"));
}

TEST(ChildProcessTest, DetectsAnEndAlthoughOthersHoldTheOutputOpen) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(FirstExchange("sleep 60 & read line; exit 3", 30),
              StatusIs(absl::StatusCode::kAborted, "exited with code 3"));
  EXPECT_THAT(FirstExchange("setsid sleep 3 & read line; printf half; kill -9 $$", 30),
              StatusIs(absl::StatusCode::kAborted, "was killed by signal 9 after an incomplete line"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST(ChildProcessTest, IsNotKilledByTheSignalThatAsksTheTrainerToStop) {
  ASSERT_OK_AND_ASSIGN(const std::string reply, Started("read line; kill -USR1 $$; echo $line")->Exchange("alive", 5));
  EXPECT_EQ(reply, "alive");
}

TEST(ChildProcessTest, SurvivesAProcessThatDoesNotReadItsInput) {
  EXPECT_THAT(Started("exec 0<&-; exit 5")->Exchange(std::string(1'000'000, 'x'), 5),
              StatusIs(absl::StatusCode::kAborted, "exited with code 5"));
}

TEST(ChildProcessTest, WaitsNoLongerThanItsTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(FirstExchange("read line; sleep 60", 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "gave no reply within 0.2 seconds"));
  EXPECT_THAT(
      FirstExchange("read line; printf half; sleep 60", 0.2),
      StatusIs(absl::StatusCode::kDeadlineExceeded, "gave no reply within 0.2 seconds, only an incomplete line"));
  EXPECT_THAT(Started("sleep 60")->Exchange(std::string(1'000'000, 'x'), 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no reply")));
  EXPECT_THAT(FirstExchange("read line; while :; do printf x; done", 0.2),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("only an incomplete line")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3))
      << "after an error, the process is ended without delay";
}

TEST(ChildProcessTest, CanBeCancelledByAnotherThread) {
  const auto process = Started("read line; sleep 60");
  std::atomic<bool> cancelled = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancelled = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(process->Exchange("a", 60, [&] { return cancelled.load(); }).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  other.join();
}

TEST(ChildProcessTest, RefusesOutputWithoutARequest) {
  const auto process = Started("echo hello; cat");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(process->Exchange("a", 5),
              StatusIs(absl::StatusCode::kDataLoss, "wrote output without a request: \"hello\\n\""));
  EXPECT_THAT(FirstExchange("read line; printf 'a\\nb\\n'; sleep 60"),
              StatusIs(absl::StatusCode::kDataLoss, "wrote output without a request: \"a\" and then \"b\\n\""));
}

// Returns whether the process exists and is not a zombie.
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

TEST(ChildProcessTest, PassesNoFileOrSocketToTheChild) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);  // as a library leaves them: open across exec
  const int file = open("/dev/null", O_RDONLY);
  ASSERT_OK_AND_ASSIGN(const std::string descriptors, Started("read line; ls -m /proc/$$/fd")->Exchange("", 5));
  for (const int descriptor : {sockets[0], sockets[1], file}) close(descriptor);
  EXPECT_EQ(descriptors, "0, 1, 2");
}

// Returns the process ids that the program printed, after its owner was killed and could not clean up.
std::vector<pid_t> OrphansOf(const std::string& command) {
  int reported[2];
  EXPECT_EQ(pipe2(reported, O_CLOEXEC), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto process = ChildProcess::Start(command);
    const absl::StatusOr<std::string> pids = (*process)->Exchange("", 5);
    const std::string line = absl::StrCat(pids.value_or(""), "\n");
    if (write(reported[1], line.data(), line.size()) > 0) pause();
    _exit(1);
  }
  close(reported[1]);
  char bytes[256];
  const ssize_t size = read(reported[0], bytes, sizeof(bytes));
  close(reported[0]);
  kill(owner, SIGKILL);
  EXPECT_EQ(waitpid(owner, nullptr, 0), owner);
  std::istringstream text(std::string(bytes, size > 0 ? static_cast<size_t>(size) : 0));
  std::vector<pid_t> pids;
  for (pid_t pid; text >> pid;) pids.push_back(pid);
  return pids;
}

TEST(ChildProcessTest, EndsWhenItsOwnerIsKilled) {
  for (const std::string command :
       {"trap '' TERM HUP; read line; sleep 1000 & echo $$ $!; wait",               // with its own child process
        "exec setsid sh -c 'read line; echo $$ $$; while :; do sleep 1000; done'",  // in a session of its own
        "trap '' TERM; read line; kill -TERM 0; echo $$ $$; while :; do sleep 1000; done"}) {  // it signals its group
    SCOPED_TRACE(command);
    const std::vector<pid_t> pids = OrphansOf(command);
    ASSERT_EQ(pids.size(), 2u);
    for (const pid_t pid : pids) {
      for (int i = 0; i < 300 && Lives(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_FALSE(Lives(pid)) << pid;
      kill(pid, SIGKILL);
    }
  }
}

TEST(CheckCommandTest, AcceptsProgramsThatExist) {
  const std::string script = ::testing::TempDir() + "/script";
  std::ofstream(script) << "#!/bin/sh\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const std::string command :
       {"cat", "exec cat -", "read line; exit 3", "while :; do :; done", "A=1 b_2=x exec cat", script.c_str(),
        "PATH=/nowhere no_such_program", "$NO_SUCH_PROGRAM x", "'a b'", "(no_such_program)", "", "  "}) {
    EXPECT_OK(CheckCommand(command));
  }
}

TEST(CheckCommandTest, NamesWhatIsMissingAndTheRemedy) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::string plain = ::testing::TempDir() + "/plain.py";
  std::ofstream(plain) << "print()\n";
  std::filesystem::permissions(plain, std::filesystem::perms::owner_read);
  EXPECT_THAT(CheckCommand("A=1 exec no_such_program --x"),
              StatusIs(kInvalid, "there is no program \"no_such_program\" in PATH"));
  EXPECT_THAT(CheckCommand("/no/such/file x"), StatusIs(kInvalid, "there is no \"/no/such/file\""));
  EXPECT_THAT(CheckCommand("./no_such_file"), StatusIs(kInvalid, "there is no \"./no_such_file\""));
  EXPECT_THAT(CheckCommand("/tmp/"), StatusIs(kInvalid, "\"/tmp/\" is a directory"));
  EXPECT_THAT(CheckCommand(plain + " --x"),
              StatusIs(kInvalid, HasSubstr(absl::StrCat(" is not executable: name its interpreter, as \"python3 ",
                                                        plain, "\", or chmod +x it"))));
}

}  // namespace
}  // namespace reprise
