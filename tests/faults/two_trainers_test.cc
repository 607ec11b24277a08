// Promise: when a trainer that was believed dead wakes up after another process has resumed its run, it ends with an
// error and corrupts nothing.

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/kill_points.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kExitConfiguration = 64;

struct Awakened {
  ProcessResult first;
  SmallRun second;
};

// Stops the first trainer before one of its calls, lets the second finish the run, and wakes the first.
Awakened SecondWhileFirstIsStopped(int64_t call) {
  Injection stop = {.fault = "signal", .call = call, .signal = SIGSTOP};
  const StartedSmallRun first = StartSmallRun(stop);
  EXPECT_TRUE(IsStopped(first.process));
  Awakened awakened = {.first = {}, .second = Resume(first.directory)};
  kill(first.process.pid, SIGCONT);
  awakened.first = WaitFor(first.process, 60);
  return awakened;
}

void ExpectNoHarm(const Awakened& awakened) {
  EXPECT_FALSE(awakened.first.timed_out);
  if (awakened.first.exit_code == 0) {
    EXPECT_EQ(awakened.first.out, UndisturbedRun().process.out);
  } else {
    EXPECT_EQ(awakened.first.exit_code, kExitConfiguration) << awakened.first.err;
    EXPECT_THAT(awakened.first.err, AnyOf(HasSubstr("another process"), HasSubstr("already holds a run"),
                                          HasSubstr("this run is finished")));
  }
  EXPECT_EQ(awakened.second.process.exit_code, 0) << awakened.second.process.err;
  EXPECT_TRUE(awakened.second.run_bytes() == UndisturbedRun().run_bytes()) << "a different run.h5";
  EXPECT_TRUE(awakened.second.weights() == UndisturbedRun().weights()) << "different weights";
  // The next process that opens the run repairs the leftovers of the first, except for checkpoint files, which may
  // remain: they are named by their contents, so they are harmless.
  std::filesystem::remove_all(awakened.second.directory + "/checkpoints");
  ExpectEndsAs(Resume(awakened.second.directory), UndisturbedRun());
}

// At every third of the calls that represent all; with REPRISE_ALL_KILL_POINTS (all_two_trainers_test, slow) at each.
TEST(TwoTrainersTest, TheFirstEndsWithAnErrorAndTheRunIsCorrect) {
  const std::vector<LoggedCall>& log = UndisturbedRun().calls;
  const int stride = std::getenv("REPRISE_ALL_KILL_POINTS") != nullptr ? 1 : 3;
  int reported = 0, number = 0;
  for (const KillPoint& point : KillPoints(log, RepresentativeCalls(log))) {
    if (point.torn || number++ % stride != 0) continue;
    SCOPED_TRACE("stopped at call " + std::to_string(point.call) + ": " +
                 log.at(static_cast<size_t>(point.call)).text());
    const Awakened awakened = SecondWhileFirstIsStopped(point.call);
    ExpectNoHarm(awakened);
    reported += awakened.first.exit_code != 0 ? 1 : 0;
    std::filesystem::remove_all(awakened.second.directory);
  }
  EXPECT_GT(reported, 30 / stride);
}

}  // namespace
}  // namespace reprise::testing
