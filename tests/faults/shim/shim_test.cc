// The shim intercepts every call, and each fault has the described effect on a call.

#include <csignal>
#include <filesystem>

#include "core/testing/sanitizers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/injection.h"
#include "tests/programs/process.h"

namespace reprise::testing {
namespace {

using ::testing::ElementsAre;

constexpr int kWrite = 2, kPwrite = 3, kSync = 4, kRename = 14;  // of the calls below

struct Outcome {
  ProcessResult process;
  std::vector<std::string> calls;  // texts
  std::string file;                // the bytes of "a"
};

Outcome CallEverything(Injection injection) {
  const std::string directory = UniqueTemporaryPath();
  injection.directory = directory;
  injection.log = UniqueTemporaryPath();
  Outcome outcome;
  outcome.process = RunProcess({"tests/faults/shim/call_everything", directory}, EnvironmentVariables(injection));
  for (const LoggedCall& call : ReadLog(injection.log)) outcome.calls.push_back(call.text());
  if (std::filesystem::exists(directory + "/a")) outcome.file = Contents(directory + "/a");
  return outcome;
}

TEST(ShimTest, CountsEveryCallAndChangesNothing) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer's pread, which replaces the C library's, does not call the shim";
  const Outcome outcome = CallEverything({});
  EXPECT_EQ(outcome.process.exit_code, 0);
  EXPECT_EQ(outcome.process.out, "");
  EXPECT_EQ(outcome.file, "12abcd");
  EXPECT_THAT(outcome.calls, ElementsAre("mkdir .", "create a", "write a", "write a", "sync a", "read a", "truncate a",
                                         "sync a", "close a", "open a", "read a", "close a", "create b", "close b",
                                         "find a", "rename b c", "rename c d", "link d e", "link d f", "remove e",
                                         "remove f", "list .", "mkdir g", "rmdir g"));
}

TEST(ShimTest, CountsOnlyCallsThatMatch) {
  EXPECT_THAT(CallEverything({.match = "sync a"}).calls, ElementsAre("sync a", "sync a"));
}

TEST(ShimTest, CountsOnlyTheCallsOfTheGivenRank) {
  Injection injection = {.directory = "/", .match = "", .rank = 1};
  auto environment = EnvironmentVariables(injection);
  EXPECT_EQ(environment.at("FAULT_SHIM_RANK"), "1");
  const std::string directory = UniqueTemporaryPath(), log = UniqueTemporaryPath();
  const std::vector<std::string> program = {"tests/faults/shim/call_everything", directory};
  environment["FAULT_SHIM_DIRECTORY"] = directory;
  environment["FAULT_SHIM_LOG"] = log;
  environment["OMPI_COMM_WORLD_RANK"] = "0";
  RunProcess(program, environment);
  EXPECT_FALSE(std::filesystem::exists(log));
  environment["OMPI_COMM_WORLD_RANK"] = "1";
  RunProcess(program, environment);
  EXPECT_FALSE(ReadLog(log).empty());
}

TEST(ShimTest, FailsEachCallOnceWithoutEffect) {
  const std::vector<std::string> calls = CallEverything({}).calls;
  for (size_t call = 1; call < calls.size(); ++call) {
    const Outcome outcome = CallEverything({.fault = "error", .call = static_cast<int64_t>(call), .error_number = EIO});
    EXPECT_THAT(outcome.process.out, ::testing::HasSubstr("Input/output error\n")) << calls[call];
  }
  EXPECT_EQ(CallEverything({.fault = "error", .call = kWrite, .error_number = ENOSPC}).process.out,
            "write: No space left on device\npread: 6\n");
}

TEST(ShimTest, FailsEveryCallFromTheGivenOneOn) {
  const Outcome outcome = CallEverything({.fault = "error_from", .call = 0, .error_number = EDQUOT, .match = "sync"});
  EXPECT_EQ(outcome.process.out, "fsync: Disk quota exceeded\nfdatasync: Disk quota exceeded\n");
}

TEST(ShimTest, TransfersHalfOfTheBytes) {
  EXPECT_EQ(CallEverything({.fault = "short", .call = kPwrite}).process.out, "pwrite: 2\n");
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer's pread, which replaces the C library's, does not call the shim";
  EXPECT_EQ(CallEverything({.fault = "short", .call = 0, .match = "read a"}).process.out, "pread: 4\n");
}

TEST(ShimTest, KillsBeforeTheCall) {
  const Outcome outcome = CallEverything({.fault = "signal", .call = kPwrite, .signal = SIGKILL});
  EXPECT_EQ(outcome.process.exit_code, 128 + SIGKILL);
  EXPECT_EQ(outcome.file, "12345678");
  EXPECT_EQ(outcome.calls.size(), static_cast<size_t>(kPwrite) + 1);
}

TEST(ShimTest, StopsBeforeTheCallUntilTheProcessIsContinued) {
  const std::string directory = UniqueTemporaryPath();
  const StartedProcess process = StartProcess(
      {"tests/faults/shim/call_everything", directory},
      EnvironmentVariables({.directory = directory, .fault = "signal", .call = kPwrite, .signal = SIGSTOP}));
  ASSERT_TRUE(IsStopped(process));
  EXPECT_EQ(Contents(directory + "/a"), "12345678");
  kill(process.pid, SIGCONT);
  EXPECT_EQ(WaitFor(process).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/a"), "12abcd");
}

TEST(ShimTest, KillsAfterATime) {
  const std::string directory = UniqueTemporaryPath();
  EXPECT_EQ(RunProcess({"/bin/sleep", "20"},
                       EnvironmentVariables({.directory = directory, .signal = SIGKILL, .signal_after_ms = 50}))
                .exit_code,
            128 + SIGKILL);
}

TEST(ShimTest, KillsAfterHalfOfAWriteAndBeforeAnyOtherCall) {
  const Outcome write = CallEverything({.fault = "torn", .call = kPwrite});
  EXPECT_EQ(write.process.exit_code, 128 + SIGKILL);
  EXPECT_EQ(write.file, "12ab5678");
  EXPECT_EQ(CallEverything({.fault = "torn", .call = kSync}).file, "12abcd78");
  EXPECT_EQ(CallEverything({.fault = "torn", .call = kRename}).process.exit_code, 128 + SIGKILL);
}

}  // namespace
}  // namespace reprise::testing
