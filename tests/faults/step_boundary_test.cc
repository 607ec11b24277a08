// Promise: a run that is stopped at any of its steps and resumed ends with the bytes of the run that was never
// interrupted. Twelve steps have every order of commits, states and checkpoints; REPRISE_STEPS are those of training.

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/faults/resuming.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr int kSft = 4;

int Steps() {
  const char* const asked = std::getenv("REPRISE_STEPS");
  return asked != nullptr ? std::atoi(asked) : 8;
}

// Each step is a commit of its own, and every third step saves a state.
const SmallRunOptions& AllSteps() {
  static const auto* const options = new SmallRunOptions{
      .flags = {"--set", "run.steps=" + std::to_string(Steps()), "--set", "sft.steps=" + std::to_string(kSft), "--set",
                "artifact.checkpoint_every=5", "--set", "execution.commit_every=1", "--set", "execution.save_every=3"}};
  return *options;
}

const SmallRun& Undisturbed() {
  static const auto* const run = new SmallRun(TrainSmallRun({}, AllSteps()));
  return *run;
}

// Returns the number of ranks on which the run is resumed.
int RanksAfter(int64_t number) { return static_cast<int>(number % 4) + 1; }

TEST(StepBoundaryTest, KilledBeforeOrWithinEachCommit) {
  ASSERT_EQ(Undisturbed().process.exit_code, 0) << Undisturbed().process.err;
  // The journal's first two entries are the reference to its parent and the header.
  for (int64_t entry = 0; entry < 2 + kSft + Steps(); ++entry) {
    Injection kill = KillAt(entry, /*torn=*/entry % 2 != 0);
    kill.match = "write journal.";
    ExpectSurvives(kill, AllSteps(), Undisturbed(), RanksAfter(entry));
  }
}

TEST(StepBoundaryTest, StoppedAfterEachStep) {
  for (int64_t step = 1; step < Steps(); ++step) {
    SCOPED_TRACE(step);
    SmallRunOptions stopping = AllSteps();
    stopping.flags.insert(stopping.flags.end(), {"--stop-after-step", std::to_string(step)});
    const SmallRun stopped = TrainSmallRun({}, stopping);
    EXPECT_EQ(stopped.process.exit_code, 0) << stopped.process.err;
    SmallRunOptions resuming = AllSteps();
    resuming.ranks = RanksAfter(step);
    const SmallRun resumed = Resume(stopped.directory, resuming);
    ASSERT_EQ(resumed.process.exit_code, 0) << resumed.process.err;
    EXPECT_TRUE(resumed.run_bytes() == Undisturbed().run_bytes());
    EXPECT_EQ(resumed.process.out, Undisturbed().process.out);
    std::filesystem::remove_all(stopped.directory);
  }
}

void ExpectReproduced(const SmallRun& run, const std::string& what) {
  const Verdict verdict = Reproduce(run.directory, "replay", {});
  EXPECT_TRUE(verdict.pass) << what << ": " << verdict.process.out << verdict.process.err;
}

SmallRunOptions With(SmallRunOptions options, const std::vector<std::string>& overrides) {
  for (const std::string& pair : overrides) options.flags.insert(options.flags.end(), {"--set", pair});
  return options;
}

// A step is committed before its checkpoint: the last step may have none yet. A run that is stopped when it is resumed
// gets it.
TEST(StepBoundaryTest, WhatAKilledRunHasCommittedIsReproducedAlsoOnceItIsStopped) {
  constexpr int kCommitted = 2 + 3 + 6;  // entries of the journal: the first two, the SFT phase, training
  for (const std::string keep : {"0", "1"}) {
    const SmallRunOptions options =
        With(AllSteps(), {"sft.steps=3", "artifact.checkpoint_every=2", "artifact.keep_checkpoints=" + keep});
    for (int64_t entry = 3; entry < kCommitted; ++entry) {
      const std::string what = "keeping " + keep + ", killed at entry " + std::to_string(entry);
      Injection kill = KillAt(entry, /*torn=*/false);
      kill.match = "write journal.";
      const SmallRun killed = TrainSmallRun(kill, options);
      ExpectReproduced(killed, what);
      SmallRunOptions stopping = options;
      stopping.flags.insert(stopping.flags.end(), {"--stop-after-step", "1"});
      const SmallRun stopped = Resume(killed.directory, stopping);
      EXPECT_EQ(stopped.process.exit_code, 0) << stopped.process.err;
      EXPECT_FALSE(stopped.run_bytes().empty());
      ExpectReproduced(stopped, what + ", then stopped");
      std::filesystem::remove_all(killed.directory);
    }
  }
}

// The last checkpoint of the shorter run, which the longer one does not make, has displaced an older one.
TEST(StepBoundaryTest, AnExtendedRunIsReproducedWhereverItIsKilledOrStopped) {
  const std::vector<std::string> overrides = {"sft.steps=0", "artifact.checkpoint_every=4",
                                              "artifact.keep_checkpoints=1", "optimizer.schedule=constant"};
  for (const std::string every : {"0", "1"}) {  // with evaluations, all steps are executed again
    SmallRunOptions shorter = With(AllSteps(), overrides);
    shorter = With(shorter, {"evaluation.every=" + every, "evaluation.num_prompts=2", "run.steps=5"});
    SmallRunOptions longer = With(shorter, {"run.steps=9"});
    longer.flags.push_back("--resume");
    const SmallRun finished = TrainSmallRun({}, shorter);
    const auto extend = [&](const Injection& injection, const std::vector<std::string>& flags,
                            const std::string& what) {
      SmallRunOptions options = longer;
      options.directory = CopyDirectory(finished.directory);
      options.flags.insert(options.flags.end(), flags.begin(), flags.end());
      const SmallRun extended = TrainSmallRun(injection, options);
      ExpectReproduced(extended, "evaluations every " + every + ", " + what);
      std::filesystem::remove_all(options.directory);
    };
    for (int64_t entry = 2; entry < 8; ++entry) {
      Injection kill = KillAt(entry, /*torn=*/false);
      kill.match = "write journal.";
      extend(kill, {}, "killed at entry " + std::to_string(entry));
    }
    extend({.fault = "signal", .call = 0, .signal = SIGKILL, .match = "write states"}, {}, "killed at a state");
    extend({}, {"--stop-after-step", "6"}, "stopped");
  }
}

}  // namespace
}  // namespace reprise::testing
