// Promises of runs whose environment is another program: the same bytes however they are executed, and reproducible
// where that program is not.

#include "tests/environments/outside.h"

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

TEST(OutsideTest, TheDocumentationsExampleServes) {
  const std::vector<std::string> example = {"process.command=\"exec python3 docs/examples/number_guess.py\""};
  const TrainedRun run = Train(kOutsideRun, example, {});
  EXPECT_EQ(Train(kOutsideRun, example, {.ranks = 2}).run_sha256, run.run_sha256);
}

TEST(OutsideTest, AProgramThatEndsBetweenEpisodesIsStartedAnew) {
  const TrainedRun run = Train(kOutsideRun, {"execution.process_restarts=1"}, Failing("exits"));
  EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
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
