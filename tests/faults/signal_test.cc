// Promise: SIGINT, and SIGTERM and SIGUSR1, which cluster schedulers send before they take nodes away, end a run after
// the current step with the exit code for "retry". The resumed run ends as if there had been no signal.

#include <algorithm>
#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

constexpr int kExitRetry = 75, kSteps = 8;

SmallRunOptions EightSteps(int ranks) {
  return {.flags = {"--set", "run.steps=" + std::to_string(kSteps)}, .ranks = ranks};
}

// Rank 0 gets the signal while it writes the metrics of step `step`.
Injection SignalInStep(int signal, int64_t step) {
  return {.fault = "signal", .call = step - 1, .signal = signal, .match = "write metrics.jsonl", .rank = -1};
}

int64_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

void ExpectEndsAfterTheStepAndGoesOn(int signal, int64_t step, int ranks, const SmallRun& undisturbed) {
  SCOPED_TRACE("signal " + std::to_string(signal) + " in step " + std::to_string(step));
  Injection injection = SignalInStep(signal, step);
  if (ranks > 1) injection.rank = 0;
  const SmallRun asked = TrainSmallRun(injection, EightSteps(ranks));
  if (step < kSteps) {
    EXPECT_EQ(asked.process.exit_code, kExitRetry) << asked.process.err;
    EXPECT_THAT(asked.process.err, ::testing::HasSubstr("--resume"));
    EXPECT_EQ(asked.run_bytes(), "");
    const int64_t done = Lines(Contents(asked.directory + "/metrics.jsonl"));
    EXPECT_GE(done, step);
    EXPECT_LE(done, step + 1);
  }
  ExpectEndsAs(Resume(asked.directory, EightSteps(ranks)), undisturbed);
}

TEST(SignalTest, EndsARunAfterAnyStep) {
  const SmallRun undisturbed = TrainSmallRun({}, EightSteps(1));
  for (int64_t step = 1; step <= kSteps; ++step) ExpectEndsAfterTheStepAndGoesOn(SIGTERM, step, 1, undisturbed);
  for (const int signal : {SIGINT, SIGUSR1}) ExpectEndsAfterTheStepAndGoesOn(signal, 2, 1, undisturbed);
}

TEST(SignalTest, EndsARunDuringItsStart) {
  const SmallRun undisturbed = TrainSmallRun({}, EightSteps(1));
  for (const int64_t call : {0, 5, 20, 40}) {
    const SmallRun asked = TrainSmallRun({.fault = "signal", .call = call, .signal = SIGTERM}, EightSteps(1));
    EXPECT_EQ(asked.process.exit_code, kExitRetry) << call << ": " << asked.process.err;
    ExpectEndsAs(Resume(asked.directory, EightSteps(1)), undisturbed);
  }
}

TEST(SignalTest, EndsAllRanksWhenOneGetsIt) {
  const SmallRun undisturbed = TrainSmallRun({}, EightSteps(1));
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ExpectEndsAfterTheStepAndGoesOn(signal, 3, 3, undisturbed);
}

TEST(SignalTest, ARunGoesOnWhenNobodyReadsItsProgress) {
  const SmallRun undisturbed = TrainSmallRun({}, EightSteps(1));
  SmallRunOptions options = EightSteps(1);
  options.flags.insert(options.flags.end(), {"--set", "execution.log_every=1"});
  options.redirections = "2>&1 | true";
  const SmallRun unread = TrainSmallRun({}, options);
  EXPECT_TRUE(unread.run_bytes() == undisturbed.run_bytes()) << "a different run.h5";
  EXPECT_TRUE(unread.weights() == undisturbed.weights()) << "different weights";
}

}  // namespace
}  // namespace reprise::testing
