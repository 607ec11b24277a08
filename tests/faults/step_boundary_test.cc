// Promise: a run of thirty steps that is stopped at any of them and resumed ends with the bytes of the run that was
// never interrupted.

#include <csignal>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/faults/resuming.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr int kWarmUp = 10, kSteps = 20;

// Each step is a commit of its own, and every third step saves a state.
const SmallRunOptions& ThirtySteps() {
  static const auto* const options =
      new SmallRunOptions{.flags = {"--set", "run.steps=" + std::to_string(kSteps), "--set",
                                    "warm_up.steps=" + std::to_string(kWarmUp), "--set", "artifact.checkpoint_every=7",
                                    "--set", "execution.commit_every=1", "--set", "execution.save_every=3"}};
  return *options;
}

const SmallRun& Undisturbed() {
  static const auto* const run = new SmallRun(TrainSmallRun({}, ThirtySteps()));
  return *run;
}

// Returns the number of ranks on which the run is resumed.
int RanksAfter(int64_t number) { return static_cast<int>(number % 4) + 1; }

TEST(StepBoundaryTest, KilledBeforeOrWithinEachCommit) {
  ASSERT_EQ(Undisturbed().process.exit_code, 0) << Undisturbed().process.err;
  // The journal's first two entries are the reference to its parent and the header.
  for (int64_t entry = 0; entry < 2 + kWarmUp + kSteps; ++entry) {
    Injection kill = KillAt(entry, /*torn=*/entry % 2 != 0);
    kill.match = "write journal.";
    ExpectSurvives(kill, ThirtySteps(), Undisturbed(), RanksAfter(entry));
  }
}

TEST(StepBoundaryTest, StoppedAfterEachStep) {
  for (int64_t step = 1; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    SmallRunOptions stopping = ThirtySteps();
    stopping.flags.insert(stopping.flags.end(), {"--stop-after-step", std::to_string(step)});
    const SmallRun stopped = TrainSmallRun({}, stopping);
    EXPECT_EQ(stopped.process.exit_code, 0) << stopped.process.err;
    SmallRunOptions resuming = ThirtySteps();
    resuming.ranks = RanksAfter(step);
    const SmallRun resumed = Resume(stopped.directory, resuming);
    ASSERT_EQ(resumed.process.exit_code, 0) << resumed.process.err;
    EXPECT_TRUE(resumed.run_bytes() == Undisturbed().run_bytes());
    EXPECT_EQ(resumed.process.out, Undisturbed().process.out);
    std::filesystem::remove_all(stopped.directory);
  }
}

// A step is committed before its checkpoint: the last step may have none yet.
TEST(StepBoundaryTest, WhatAKilledRunHasCommittedIsReproduced) {
  constexpr int kCommitted = 2 + 3 + 6;  // entries of the journal: the first two, the warm-up, training
  for (const char* keep : {"0", "1"}) {
    SmallRunOptions options = ThirtySteps();
    options.flags.insert(options.flags.end(), {"--set", "warm_up.steps=3", "--set", "artifact.checkpoint_every=2",
                                               "--set", std::string("artifact.keep_checkpoints=") + keep});
    for (int64_t entry = 3; entry < kCommitted; ++entry) {
      Injection kill = KillAt(entry, /*torn=*/false);
      kill.match = "write journal.";
      const SmallRun killed = TrainSmallRun(kill, options);
      const Verdict verdict = Reproduce(killed.directory, "replay", {});
      EXPECT_TRUE(verdict.pass) << "entry " << entry << ": " << verdict.process.out << verdict.process.err;
      EXPECT_EQ(verdict.steps_checked, entry - 2);
      std::filesystem::remove_all(killed.directory);
    }
  }
}

}  // namespace
}  // namespace reprise::testing
