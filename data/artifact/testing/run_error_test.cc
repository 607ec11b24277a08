// Every file-system call that a run makes fails, each with some of the errors that a disk can return: the error is
// reported, nothing that was durable is lost, and the next process ends with the same files. (Interrupted calls and
// short writes are handled below this layer: core/io/full_transfer_test.)

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "data/artifact/testing/crash_trial.h"
#include "data/artifact/testing/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

void FailCall(const CrashTrial& trial, int64_t call, const std::vector<int>& errors) {
  for (const int error : errors) {
    Wreck wreck = trial.Prepared();
    wreck.files->FailCall(call, error);
    const absl::Status status = RunProcesses(trial.scenario(), *wreck.files, wreck.promise);
    const std::string& log = wreck.files->log()[call];
    ASSERT_TRUE(IsFileError(status)) << trial.scenario().name << ", " << log << ": " << status;
    ASSERT_EQ(ExitCodeOf(status), kExitIo);
    const std::string path = log.substr(log.find(' ') + 1);
    ASSERT_NE(status.message().find(path), absl::string_view::npos) << log << ": " << status;
    wreck.files->Restart();
    ASSERT_TRUE(trial.EndsRight(std::move(wreck))) << log;
  }
}

// Fails every call with the errors that `errors_of` returns for it. Returns the number of calls.
int64_t FailEveryCall(const Scenario& scenario, const std::function<std::vector<int>(int64_t call)>& errors_of) {
  const CrashTrial trial(scenario);
  Wreck wreck = trial.Prepared();
  EXPECT_TRUE(RunProcesses(scenario, *wreck.files, wreck.promise).ok());
  const int64_t calls = wreck.files->calls();
  for (int64_t call = 0; call < calls && !::testing::Test::HasFailure(); ++call) {
    FailCall(trial, call, errors_of(call));
  }
  return calls;
}

TEST(RunErrorTest, EveryFailingCallIsReportedAndLosesNothing) {
  std::vector<Scenario> scenarios = AllScenarios(/*steps=*/2);
  const int64_t calls = FailEveryCall(scenarios[0], [](int64_t call) {
    return call % 2 == 0 ? std::vector<int>{ENOSPC, ESTALE} : std::vector<int>{EDQUOT, EIO};
  });
  EXPECT_GE(calls, 150);
}

TEST(RunErrorTest, FailingCallsOfResumedRewrittenOrTidiedRunsAreReportedToo) {
  std::vector<Scenario> scenarios = AllScenarios(/*steps=*/2);
  int64_t calls = 0;
  for (size_t i = 1; i < scenarios.size(); ++i) {
    calls += FailEveryCall(scenarios[i], [](int64_t call) {
      constexpr int kErrors[] = {ENOSPC, EDQUOT, EIO, ESTALE};
      return std::vector<int>{kErrors[call % 4]};
    });
  }
  EXPECT_GE(calls, 500);
}

}  // namespace
}  // namespace reprise::testing
