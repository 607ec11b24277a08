// Promise: a run that early stopping ends, killed at any step and resumed on another number of ranks, ends at the same
// step with the same bytes, and exports the best evaluation's weights.

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kSft = 3, kEnd = 6;

// At learning rate 0 the evaluation of step 2 remains the best one, so early stopping is triggered at step 6.
const SmallRunOptions& EndsEarly() {
  static const auto* const options = new SmallRunOptions{.flags = {"--set", "run.steps=20",
                                                                   "--set", "sft.steps=" + std::to_string(kSft),
                                                                   "--set", "optimizer.learning_rate=0.0",
                                                                   "--set", "evaluation.every=2",
                                                                   "--set", "evaluation.num_prompts=5",
                                                                   "--set", "evaluation.num_generations=0",
                                                                   "--set", "evaluation.early_stopping_patience=2",
                                                                   "--set", "evaluation.load_best_model_at_end=true",
                                                                   "--set", "execution.commit_every=1",
                                                                   "--set", "execution.save_every=4"}};
  return *options;
}

const SmallRun& Undisturbed() {
  static const auto* const run = new SmallRun(TrainSmallRun({}, EndsEarly()));
  return *run;
}

TEST(EarlyEndTest, KilledBeforeOrWithinEachCommit) {
  ASSERT_EQ(Undisturbed().process.exit_code, 0) << Undisturbed().process.err;
  // The journal's first two entries are the reference to its parent and the header.
  for (int64_t entry = 0; entry < 2 + kSft + kEnd; ++entry) {
    Injection kill = KillAt(entry, /*torn=*/entry % 2 != 0);
    kill.match = "write journal.";
    ExpectSurvives(kill, EndsEarly(), Undisturbed(), static_cast<int>(entry % 3) + 1);
  }
}

// Its last checkpoint is then in a segment without steps.
TEST(EarlyEndTest, KilledWhenOnlyTheRunFileIsMissing) {
  const Injection kill = {.fault = "signal", .call = 0, .signal = SIGKILL, .match = "write run.h5"};
  ExpectSurvives(kill, EndsEarly(), Undisturbed(), 2);
}

// Four steps with one evaluation, of the third: the best weights are not the last.
SmallRunOptions BestIsNotLast() {
  return {.flags = {"--set", "run.steps=4", "--set", "optimizer.schedule=constant", "--set",
                    "optimizer.learning_rate=0.02", "--set", "evaluation.every=3", "--set", "evaluation.num_prompts=2",
                    "--set", "evaluation.num_generations=0", "--set", "evaluation.load_best_model_at_end=true"}};
}

// A signal stops no run whose steps are all done: what it exports is the best evaluation's model.
TEST(EarlyEndTest, ASignalWhileADoneRunIsResumedChangesNothing) {
  const SmallRunOptions options = BestIsNotLast();
  const SmallRun undisturbed = TrainSmallRun({}, options);
  ASSERT_EQ(undisturbed.process.exit_code, 0) << undisturbed.process.err;
  const SmallRun killed =
      TrainSmallRun({.fault = "signal", .call = 0, .signal = SIGKILL, .match = "write run.h5"}, options);
  ExpectEndsAs(Resume(killed.directory, options, {.fault = "signal", .call = 0, .signal = SIGTERM}), undisturbed);
  std::filesystem::remove_all(killed.directory);
}

// Where a complete run has passed the last requested step, raised run.steps do not change what it exports.
TEST(ExtendedRunTest, ARunThatIsNotExtendedExportsItsModelAgain) {
  const SmallRunOptions options = BestIsNotLast();
  const SmallRun undisturbed = TrainSmallRun({}, options);
  ASSERT_EQ(undisturbed.process.exit_code, 0) << undisturbed.process.err;
  for (const char* const step : {"2", "4"}) {
    const SmallRun run = TrainSmallRun({}, options);
    std::filesystem::remove_all(run.directory + "/model");
    SmallRunOptions longer = options;
    longer.ranks = 2;
    longer.flags.insert(longer.flags.end(), {"--set", "run.steps=8", "--stop-after-step", step});
    const SmallRun resumed = Resume(run.directory, longer);
    EXPECT_THAT(resumed.process.err, HasSubstr("the run has step 4 already, and no step is taken back"));
    EXPECT_THAT(resumed.process.err, HasSubstr("the run is not extended; a later step, or none, continues the run"));
    ExpectEndsAs(resumed, undisturbed);
    std::filesystem::remove_all(run.directory);
  }
}

// As on NFS, where a file can be renamed without replacing another one, but a directory can not.
TEST(ExtendedRunTest, AFileSystemNeedsNoRenameThatReplacesNothing) {
  const SmallRun run = TrainSmallRun({}, {.flags = {"--set", "run.steps=2"}});
  ASSERT_EQ(run.process.exit_code, 0) << run.process.err;
  const Injection refuse = {.fault = "error", .call = 0, .error_number = EINVAL, .match = "rename model "};
  const SmallRun extended =
      TrainSmallRun(refuse, {.flags = {"--set", "run.steps=4", "--resume"}, .directory = run.directory});
  ASSERT_EQ(extended.process.exit_code, 0) << extended.process.err;
  ASSERT_FALSE(extended.calls.empty());
  EXPECT_TRUE(std::filesystem::exists(run.directory + "/model.until-2/config.json"));
  EXPECT_TRUE(std::filesystem::exists(run.directory + "/model/config.json"));
}

}  // namespace
}  // namespace reprise::testing
