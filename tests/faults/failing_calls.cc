#include "tests/faults/failing_calls.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/faults/resuming.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

constexpr int kExitIo = 74;

// Returns whether `text` contains a path of the failed call, without the temporary part of the file's name.
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

// Returns whether the program may ignore a failure of this call.
bool IsDispensable(const std::vector<LoggedCall>& calls, size_t number) {
  const LoggedCall& call = calls[number];
  if (call.action != "close") return call.action == "find" || call.action == "rmdir";
  for (size_t i = number; i-- > 0;) {
    if (calls[i].paths != call.paths) continue;
    if (calls[i].action == "sync" || calls[i].action == "remove") return true;
    // A file is read before it is removed as the run's own; nothing of it is wanted afterwards.
    const auto next = std::find_if(calls.begin() + static_cast<std::ptrdiff_t>(number) + 1, calls.end(),
                                   [&](const LoggedCall& later) { return later.paths == call.paths; });
    return calls[i].action == "read" && next != calls.end() && next->action == "remove";
  }
  return false;
}

// Returns a run that was killed before run.h5 was renamed to its final name.
const SmallRun& KilledRun() {
  static const auto* const run =
      new SmallRun(TrainSmallRun({.fault = "signal", .call = 0, .signal = SIGKILL, .match = "rename run.h5"}));
  return *run;
}

SmallRun Run(Begin begin, const Injection& injection) {
  return begin == Begin::kAfresh ? TrainSmallRun(injection)
                                 : Resume(CopyDirectory(KilledRun().directory), {}, injection);
}

void ExpectSuccess(const SmallRun& run) {
  EXPECT_TRUE(run.run_bytes() == UndisturbedRun().run_bytes()) << "silently wrong";
  EXPECT_TRUE(run.weights() == UndisturbedRun().weights()) << "silently wrong";
  EXPECT_EQ(run.process.out, UndisturbedRun().process.out);
}

void ExpectClearError(const SmallRun& run, const LoggedCall& call) {
  EXPECT_EQ(run.process.exit_code, kExitIo);
  EXPECT_TRUE(NamesTheFile(run.process.err, call, run.directory));
  const std::string bytes = run.run_bytes();
  EXPECT_TRUE(bytes.empty() || bytes == UndisturbedRun().run_bytes()) << "run.h5 exists and is wrong";
  ExpectEndsAs(Resume(run.directory), UndisturbedRun());
}

}  // namespace

std::vector<CallFault> CallFaults() {
  return {{"FullDisk", "error", ENOSPC},
          {"BrokenDisk", "error", EIO},
          {"Interrupted", "error", EINTR, /*is_transient=*/true},
          {"ShortTransfer", "short", 0, /*is_transient=*/true}};
}

const std::vector<LoggedCall>& RecordFileCalls(Begin begin) {
  static const auto* const calls = new std::vector<LoggedCall>(Run(Begin::kTakenUp, {}).calls);
  return begin == Begin::kAfresh ? UndisturbedRun().calls : *calls;
}

void ExpectEveryFailureIsHandled(Begin begin, const CallFault& fault, const std::vector<int64_t>& calls) {
  const std::vector<LoggedCall>& log = RecordFileCalls(begin);
  int succeeded = 0, failed = 0;
  for (const int64_t number : calls) {
    const auto place = static_cast<size_t>(number);
    if (!Applies(fault, log.at(place))) continue;
    const SmallRun run = Run(begin, {.fault = fault.fault, .call = number, .error_number = fault.error_number});
    ASSERT_GT(run.calls.size(), place);
    ASSERT_EQ(run.calls[place].text(), log[place].text());
    SCOPED_TRACE("call " + std::to_string(number) + ", " + log[place].text() + "; exit code " +
                 std::to_string(run.process.exit_code) + ", stderr: " + run.process.err);
    if (run.process.exit_code == 0) {
      EXPECT_TRUE(fault.is_transient || IsDispensable(log, place)) << "the failure was not reported";
      ExpectSuccess(run);
      ++succeeded;
    } else {
      EXPECT_FALSE(fault.is_transient) << "the call was not retried";
      ExpectClearError(run, run.calls[place]);
      ++failed;
    }
    std::filesystem::remove_all(run.directory);
  }
  std::printf("%s: of %d failed calls, %d were harmless and %d were reported\n", fault.name.c_str(), succeeded + failed,
              succeeded, failed);
}

}  // namespace reprise::testing
