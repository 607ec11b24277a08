// Every file-system call that a run makes fails, each with some of the errors that a disk can return: the error is
// reported, nothing that was durable is lost, and the next process ends with the same files. (Interrupted calls and
// short writes are handled below this layer: core/io/full_transfer_test.)

#include <cerrno>
#include <cstdlib>
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

constexpr int kErrors[] = {ENOSPC, EDQUOT, EIO, ESTALE};

// Fails every call with `errors` of the four errors, which take turns; with all of them where REPRISE_ALL_ERRORS is set
// (run_error_slow_test). Returns the number of calls.
int64_t FailEveryCall(const Scenario& scenario, int errors) {
  if (std::getenv("REPRISE_ALL_ERRORS") != nullptr) errors = 4;
  const CrashTrial trial(scenario);
  Wreck wreck = trial.Prepared();
  EXPECT_TRUE(RunProcesses(scenario, *wreck.files, wreck.promise).ok());
  const int64_t calls = wreck.files->calls();
  for (int64_t call = 0; call < calls && !::testing::Test::HasFailure(); ++call) {
    std::vector<int> of_call;
    for (int64_t i = 0; i < errors; ++i) of_call.push_back(kErrors[(call * errors + i) % 4]);
    FailCall(trial, call, of_call);
  }
  return calls;
}

TEST(RunErrorTest, EveryFailingCallIsReportedAndLosesNothing) {
  std::vector<Scenario> scenarios = AllScenarios(/*steps=*/2);
  const int64_t calls = FailEveryCall(scenarios[0], 2);
  EXPECT_GE(calls, 150);
}

TEST(RunErrorTest, FailingCallsOfResumedRewrittenOrTidiedRunsAreReportedToo) {
  std::vector<Scenario> scenarios = AllScenarios(/*steps=*/2);
  int64_t calls = 0;
  for (size_t i = 1; i < scenarios.size(); ++i) calls += FailEveryCall(scenarios[i], 1);
  EXPECT_GE(calls, 500);
}

}  // namespace
}  // namespace reprise::testing
