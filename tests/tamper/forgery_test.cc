// Promise: a run proves itself. Whoever edits a stored value and redoes every digest is found out by executing the run
// again, which names the step and the stage; what no run can hold is refused and never crashes.

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/programs/programs.h"
#include "tests/tamper/edits.h"

namespace reprise::testing {
namespace {

constexpr char kSmallRun[] = "tests/determinism/small.toml";
constexpr int kFail = 1, kDataLoss = 65;

const TrainedRun& Original() {
  static const auto* const run = new TrainedRun(Train(kSmallRun, {}, {}));
  return *run;
}

std::string Edited(const Edit& edit) {
  const std::string output = UniqueTemporaryPath() + ".h5";
  EXPECT_EQ(RunProcess({"tests/tamper/edit_run", Original().file(), edit.name, output}, {}).exit_code, 0);
  return output;
}

// An empty `stage` expects the file to be refused as damaged.
void ExpectFound(const Verdict& verdict, const std::string& stage) {
  SCOPED_TRACE(verdict.process.out + verdict.process.err);
  if (stage.empty()) {
    EXPECT_EQ(verdict.process.exit_code, kDataLoss);
    EXPECT_FALSE(verdict.given);
    return;
  }
  EXPECT_EQ(verdict.process.exit_code, kFail);
  ASSERT_TRUE(verdict.first.has_value());
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.first->phase, "training");
  EXPECT_EQ(verdict.first->step, kEditedStep);
  EXPECT_EQ(verdict.first->stage, stage);
  EXPECT_EQ(verdict.steps_checked, 2 + kEditedStep - 1);
}

void ExpectAllFound(const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    SCOPED_TRACE(edit.name);
    const std::string run = Edited(edit);
    ExpectFound(Reproduce(run, "replay", {}), edit.replay_stage);
    ExpectFound(Reproduce(run, "regenerate", {}), edit.regenerate_stage);
    std::filesystem::remove(run);
  }
}

TEST(ForgeryTest, TheOriginalPassesInBothModes) {
  EXPECT_TRUE(Reproduce(Original().file(), "replay", {}).pass);
  EXPECT_TRUE(Reproduce(Original().file(), "regenerate", {}).pass);
}

TEST(ForgeryTest, EachEditedValueIsFoundAtItsStepAndStage) { ExpectAllFound(PlausibleEdits()); }

TEST(ForgeryTest, WhatNoRunCanHoldIsRefused) { ExpectAllFound(ImpossibleEdits()); }

TEST(ForgeryTest, SeveralRanksFindTheSame) {
  for (const Edit& edit : {PlausibleEdits()[1], ImpossibleEdits()[0], ImpossibleEdits()[6]}) {
    SCOPED_TRACE(edit.name);
    ExpectFound(Reproduce(Edited(edit), "replay", {.ranks = 3}), edit.replay_stage);
  }
}

}  // namespace
}  // namespace reprise::testing
