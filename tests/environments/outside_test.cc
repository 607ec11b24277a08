// Promises of runs whose environment is another program: the same bytes however they are executed, and reproducible
// where that program is not.

#include "tests/environments/outside.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

const TrainedRun& Baseline() {
  static const auto* const run = new TrainedRun(Train(kOutsideRun, {}, {}));
  return *run;
}

TEST(OutsideTest, RanksThreadsBatchesAndSlotsChangeNoByte) {
  for (const int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(ranks);
    const TrainedRun run = Train(kOutsideRun,
                                 {"execution.threads=" + std::to_string(5 - ranks), "execution.micro_batch_tokens=20",
                                  "execution.decode_slots=3"},
                                 {.ranks = ranks});
    EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
    EXPECT_GT(run.counts.cut_groups, Baseline().counts.cut_groups);
    EXPECT_GT(run.counts.refills, Baseline().counts.refills);
  }
}

TEST(OutsideTest, AReplayNeedsNoProgramAndARegenerationAsksItAgain) {
  const Verdict replay = Reproduce(Baseline().file(), "replay", Failing("crash", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  EXPECT_EQ(replay.steps_checked, 7);
  const Verdict regenerated = Reproduce(Baseline().file(), "regenerate", {});
  EXPECT_TRUE(regenerated.pass) << regenerated.process.err;
  const Verdict failing = Reproduce(Baseline().file(), "regenerate", Failing("crash"));
  EXPECT_FALSE(failing.given);
}

// The machine that reproduces a run has the program elsewhere.
TEST(OutsideTest, ARegenerationAsksTheProgramByTheCommandThatItIsGiven) {
  const std::string gone = UniqueTemporaryPath(), here = UniqueTemporaryPath();
  for (const std::string& path : {gone, here}) std::ofstream(path) << Contents("tests/environments/outside.py");
  const TrainedRun run = Train(kOutsideRun, {"process.command=\"exec python3 " + gone + "\""}, {});
  std::remove(gone.c_str());
  const auto reproduce = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"pipelines/reproduce", run.file(), "--quiet"};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgramOnRanks({}, argv);
  };
  EXPECT_EQ(reproduce({"--mode", "regenerate"}).exit_code, 70);
  const ProcessResult found = reproduce({"--mode", "regenerate", "--process-command", "exec python3 " + here});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, ::testing::HasSubstr("PASS: 7 steps agree"));
  // Another program is found out, and a program that nobody would ask is refused.
  const ProcessResult other =
      reproduce({"--mode", "regenerate", "--process-command", "exec python3 docs/examples/number_guess.py"});
  EXPECT_EQ(other.exit_code, 1) << other.err;
  EXPECT_EQ(reproduce({"--process-command", "cat"}).exit_code, 64);
  const std::string bytes = Contents(run.file());
  EXPECT_THAT(bytes, ::testing::HasSubstr(gone)) << "the command that the run was trained with stays its own";
}

TEST(OutsideTest, ARunThatAskedNoProgramTakesNoCommandOfOne) {
  const TrainedRun run = Train("tests/determinism/small.toml", {}, {});
  const ProcessResult refused = RunProgramOnRanks(
      {}, {"pipelines/reproduce", run.file(), "--quiet", "--mode", "regenerate", "--process-command", "cat"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, ::testing::HasSubstr("--process-command: the run asked no program"));
}

TEST(OutsideTest, TheDocumentationsExampleServes) {
  const std::vector<std::string> example = {"process.command=\"exec python3 docs/examples/number_guess.py\""};
  const TrainedRun run = Train(kOutsideRun, example, {});
  EXPECT_EQ(Train(kOutsideRun, example, {.ranks = 2}).run_sha256, run.run_sha256);
}

TEST(OutsideTest, AProgramThatEndsBetweenEpisodesIsStartedAnew) {
  const TrainedRun run = Train(kOutsideRun, {"execution.process_restarts=1"}, Failing("exits"));
  EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
}

TEST(OutsideTest, FeaturesAndToolCallsOfAProgramAreReplayedWithoutIt) {
  Execution featuring = {.ranks = 1};
  featuring.variables["REPRISE_TEST_FEATURES"] = "1";
  const std::vector<std::string> keys = {"environment.feature_bins=8", "environment.max_tool_calls=1",
                                         "environment.tool_call_refusal=\"no\\n\""};
  const TrainedRun run = Train(kOutsideRun, keys, featuring);
  EXPECT_NE(run.run_sha256, Train(kOutsideRun, keys, {}).run_sha256) << "an observation in words";
  const Verdict replay = Reproduce(run.file(), "replay", Failing("absent", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  featuring.ranks = 3;
  EXPECT_EQ(Train(kOutsideRun, keys, featuring).run_sha256, run.run_sha256);
  EXPECT_TRUE(Reproduce(run.file(), "regenerate", featuring).pass);
  EXPECT_THAT(Contents(run.directory + "/metrics.jsonl"), ::testing::HasSubstr("tools/failure_frequency"));
}

TEST(OutsideTest, AKilledRunGoesOnToTheSameBytes) {
  for (const int ranks : {1, 2}) {
    const std::string directory = UniqueTemporaryPath();
    const std::vector<std::string> train = {
        "pipelines/train", kOutsideRun, "--output", directory, "--quiet", "--set", "execution.commit_every=1"};
    const ProcessResult killed = RunProgramOnRanks(Failing("kill_trainer", ranks), train);
    EXPECT_NE(killed.exit_code, 0);
    std::vector<std::string> resume = train;
    resume.emplace_back("--resume");
    const ProcessResult resumed = RunProgramOnRanks({.ranks = 3 - ranks}, resume);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(Contents(directory + "/run.h5"), Contents(Baseline().file()));
  }
}

}  // namespace
}  // namespace reprise::testing
