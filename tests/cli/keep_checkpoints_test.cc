// artifact.keep_checkpoints: which checkpoints a run keeps, and that the run is resumed, extended and reproduced.

#include <string>

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
    EXPECT_EQ(JsonOf("reproduce", {run, "--mode", mode}, 0)["pass"], true);
  }
  EXPECT_EQ(JsonOf("reproduce", {run, "--from-step", "6"}, 0)["pass"], true);
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

}  // namespace
}  // namespace reprise::testing
