// artifact.keep_checkpoints: which checkpoints a run keeps, and that the run is resumed, extended and reproduced.

#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kKeeping = {"run.steps=6", "artifact.keep_checkpoints=2", "optimizer.schedule=constant",
                                           "execution.commit_every=1"};

ProcessResult TrainInto(const std::string& output, const std::vector<std::string>& overrides,
                        const std::vector<std::string>& flags = {}) {
  std::vector<std::string> arguments = {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun), "--output", output,
                                        "--quiet"};
  for (const std::string& pair : overrides) arguments.insert(arguments.end(), {"--set", pair});
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return RunVerb("train", arguments);
}

TEST(KeepCheckpointsTest, TheNewestAreKeptAndTheRunIsReproduced) {
  const std::string run = TrainTinyRun(kKeeping) + "/run.h5", output = MakeDirectory();
  for (const char* mode : {"replay", "regenerate"}) {
    EXPECT_EQ(RunForJson("reproduce", {run, "--mode", mode}, 0)["pass"], true);
  }
  EXPECT_EQ(RunForJson("reproduce", {run, "--from-step", "6"}, 0)["pass"], true);
  EXPECT_EQ(RunVerb("export", {run, "--step", "5", "--output", output + "/5"}).exit_code, 0);
  const ProcessResult gone = RunVerb("export", {run, "--step", "4", "--output", output + "/4"});
  EXPECT_EQ(gone.exit_code, 64);
  EXPECT_THAT(gone.err, HasSubstr("the run holds no checkpoint of step 4, only of steps 5, 6"));
}

TEST(KeepCheckpointsTest, AResumedAndAnExtendedRunHaveTheSameBytes) {
  const std::string expected = Contents(TrainTinyRun(kKeeping) + "/run.h5"), directory = MakeDirectory();
  ASSERT_EQ(TrainInto(directory + "/a", kKeeping, {"--stop-after-step", "3"}).exit_code, 0);
  ASSERT_EQ(TrainInto(directory + "/a", kKeeping, {"--resume"}).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/a/run.h5"), expected);
  std::vector<std::string> shorter = kKeeping;
  shorter[0] = "run.steps=5";
  ASSERT_EQ(TrainInto(directory + "/b", shorter).exit_code, 0);
  ASSERT_EQ(TrainInto(directory + "/b", kKeeping, {"--resume"}).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/b/run.h5"), expected);
}

// Such a run has a checkpoint of its last step only if that step has one anyway.
TEST(KeepCheckpointsTest, ARunThatIsStoppedAfterAnyStepIsReproduced) {
  for (const int keep : {1, 2}) {
    for (int step = 1; step < 8; ++step) {
      const std::vector<std::string> overrides = {"run.steps=8", "artifact.checkpoint_every=3",
                                                  "artifact.keep_checkpoints=" + std::to_string(keep)};
      const std::string output = MakeDirectory() + "/run";
      ASSERT_EQ(TrainInto(output, overrides, {"--stop-after-step", std::to_string(step)}).exit_code, 0);
      const ProcessResult result = RunVerb("reproduce", {output + "/run.h5", "--quiet"});
      EXPECT_EQ(result.exit_code, 0) << "keeping " << keep << ", stopped after " << step << ": " << result.err;
    }
  }
}

// The checkpoint of its earlier end displaced the only one.
TEST(KeepCheckpointsTest, ARunWithoutWeightsSaysHowItGetsThem) {
  std::vector<std::string> overrides = kKeeping;
  overrides.insert(overrides.end(), {"artifact.checkpoint_every=4", "artifact.keep_checkpoints=1", "run.steps=5"});
  const std::string output = MakeDirectory() + "/run";
  ASSERT_EQ(TrainInto(output, overrides).exit_code, 0);
  overrides.back() = "run.steps=9";
  ASSERT_EQ(TrainInto(output, overrides, {"--resume", "--stop-after-step", "6"}).exit_code, 0);
  const ProcessResult result = RunVerb("export", {output, "--output", output + "/weights"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("the run holds no checkpoint: it was stopped between two; continue it with train "
                                    "--resume, or store them more often (artifact.checkpoint_every)"));
}

// Evaluations remember the best weights, which only the last checkpoint has, so an extended run repeats its steps from
// the beginning: also those whose checkpoints are no longer stored.
TEST(KeepCheckpointsTest, AnExtendedRunWithEvaluationsHasTheSameBytes) {
  for (const auto& [every, keep, from, to] : {std::tuple(1, 1, 3, 4), {1, 2, 4, 6}, {2, 1, 5, 6}, {2, 2, 5, 8}}) {
    const auto overrides = [&, every = every, keep = keep](int steps) -> std::vector<std::string> {
      return {"run.steps=" + std::to_string(steps),
              "artifact.checkpoint_every=" + std::to_string(every),
              "artifact.keep_checkpoints=" + std::to_string(keep),
              "optimizer.schedule=constant",
              "evaluation.every=1",
              "evaluation.num_prompts=4"};
    };
    const std::string directory = MakeDirectory();
    ASSERT_EQ(TrainInto(directory + "/long", overrides(to)).exit_code, 0);
    ASSERT_EQ(TrainInto(directory + "/extended", overrides(from)).exit_code, 0);
    const ProcessResult extended = TrainInto(directory + "/extended", overrides(to), {"--resume"});
    EXPECT_EQ(extended.exit_code, 0) << extended.err << "a checkpoint every " << every << " steps, keeping " << keep
                                     << ", " << from << " to " << to;
    EXPECT_EQ(Contents(directory + "/extended/run.h5"), Contents(directory + "/long/run.h5"));
  }
}

}  // namespace
}  // namespace reprise::testing
