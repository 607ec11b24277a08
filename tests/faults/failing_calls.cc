#include "tests/faults/failing_calls.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

constexpr int kExitIo = 74;

// A path of the call that failed, without what is temporary in its name.
bool NamesTheFile(const std::string& text, const LoggedCall& call, const std::string& directory) {
  for (const std::string& path : call.paths) {
    const std::string file = path == "." ? directory : directory + "/" + path.substr(0, path.find(".tmp-"));
    if (text.find(file) != std::string::npos) return true;
  }
  return false;
}

bool Applies(const CallFault& fault, const LoggedCall& call) {
  return fault.fault != "short" || call.action == "read" || call.action == "write";
}

// A program may do without knowing about a file, but not without its contents.
void ExpectSuccess(const SmallRun& run, const CallFault& fault, const LoggedCall& call) {
  EXPECT_TRUE(fault.is_transient || call.action == "find") << "silent";
  EXPECT_TRUE(run.run_bytes() == UndisturbedRun().run_bytes()) << "silently wrong";
  EXPECT_TRUE(run.weights() == UndisturbedRun().weights()) << "silently wrong";
  EXPECT_EQ(run.process.out, UndisturbedRun().process.out);
}

void ExpectClearError(const SmallRun& run, const LoggedCall& call) {
  EXPECT_EQ(run.process.exit_code, kExitIo);
  EXPECT_TRUE(NamesTheFile(run.process.err, call, run.directory));
  const std::string bytes = run.run_bytes();
  EXPECT_TRUE(bytes.empty() || bytes == UndisturbedRun().run_bytes()) << "a wrong run.h5";
}

}  // namespace

std::vector<CallFault> CallFaults() {
  return {{"FullDisk", "error", ENOSPC},
          {"BrokenDisk", "error", EIO},
          {"Interrupted", "error", EINTR, /*is_transient=*/true},
          {"ShortTransfer", "short", 0, /*is_transient=*/true}};
}

void ExpectEveryFailureIsHandled(const CallFault& fault, const std::vector<int64_t>& calls) {
  const std::vector<LoggedCall>& log = UndisturbedRun().calls;
  int succeeded = 0, failed = 0;
  for (const int64_t number : calls) {
    if (!Applies(fault, log.at(static_cast<size_t>(number)))) continue;
    const SmallRun run = TrainSmallRun({.fault = fault.fault, .call = number, .error_number = fault.error_number});
    ASSERT_GT(run.calls.size(), static_cast<size_t>(number));
    const LoggedCall& call = run.calls.at(static_cast<size_t>(number));
    ASSERT_EQ(call.text().substr(0, 10), log.at(static_cast<size_t>(number)).text().substr(0, 10));
    SCOPED_TRACE("call " + std::to_string(number) + ", " + call.text() + "; exit code " +
                 std::to_string(run.process.exit_code) + ", stderr: " + run.process.err);
    if (run.process.exit_code == 0) {
      ExpectSuccess(run, fault, call);
      ++succeeded;
    } else {
      ExpectClearError(run, call);
      ++failed;
    }
    std::filesystem::remove_all(run.directory);
  }
  std::printf("%s: of %d calls, %d did not matter and %d were told\n", fault.name.c_str(), succeeded + failed,
              succeeded, failed);
}

}  // namespace reprise::testing
