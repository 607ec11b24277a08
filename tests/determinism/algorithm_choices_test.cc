// Promise: the same bytes with the keys that change an algorithm beside its name (choices.toml).

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

constexpr char kChoices[] = "tests/determinism/choices.toml";

TEST(AlgorithmChoicesTest, GiveTheSameBytesOnAnyRanksAndForAnyExecution) {
  const TrainedRun one = Train(kChoices, {}, {});
  ASSERT_FALSE(one.run_sha256.empty());

  const TrainedRun ranks = Train(kChoices, {}, {.ranks = 3});
  EXPECT_EQ(ranks.counts.ranks, 3);
  EXPECT_EQ(ranks.run_sha256, one.run_sha256);

  const TrainedRun pieces =
      Train(kChoices, {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"},
            {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(pieces.counts.avx2_ranks, 4);
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
}

TEST(AlgorithmChoicesTest, GiveTheSameBytesWithAValueFunction) {
  const std::vector<std::string> ppo = {"algorithm.name=ppo", "algorithm.cliprange_value=0.05", "run.steps=3"};
  for (const std::string value_model : {"head", "network"}) {
    std::vector<std::string> set = ppo;
    set.push_back("algorithm.value_model=" + value_model);
    const TrainedRun one = Train(kChoices, set, {});
    ASSERT_FALSE(one.run_sha256.empty());
    set.insert(set.end(), {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2",
                           "execution.activation_checkpointing=true"});
    const TrainedRun pieces = Train(kChoices, set, {.ranks = 3, .isa = "avx2"});
    EXPECT_GT(pieces.counts.cut_groups, 0);
    EXPECT_EQ(pieces.run_sha256, one.run_sha256) << value_model;
  }
}

TEST(OptimizersTest, MuonGrokfastGivesTheSameBytesOnAnyRanksAndAfterAStopAndIsReproduced) {
  const std::vector<std::string> set = {"optimizer.name=muon_grokfast", "optimizer.qk_clip_threshold=0.5"};
  const TrainedRun one = Train(kSmallRun, set, {});
  ASSERT_FALSE(one.run_sha256.empty());
  for (const std::string other : {"optimizer.ns_steps=0", "optimizer.grokfast_amplifies=fast", "optimizer.muon=false",
                                  "optimizer.qk_clip_threshold=0"}) {
    EXPECT_NE(Train(kSmallRun, {set[0], set[1], other}, {}).weights_sha256, one.weights_sha256) << other;
  }
  const TrainedRun pieces = Train(kSmallRun, {set[0], set[1], "execution.threads=2", "execution.micro_batch_tokens=7"},
                                  {.ranks = 3, .isa = "avx2"});
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
  for (const char* mode : {"replay", "regenerate"}) EXPECT_TRUE(Reproduce(one.file(), mode, {.ranks = 2}).pass) << mode;

  const std::string directory = UniqueTemporaryPath();
  std::vector<std::string> begin = {"pipelines/train", kSmallRun, "--quiet",  "--set",  set[0],
                                    "--set",           set[1],    "--output", directory};
  std::vector<std::string> resume = begin;
  begin.insert(begin.end(), {"--stop-after-step", "1"});
  resume.push_back("--resume");
  EXPECT_EQ(RunProgramOnRanks({.ranks = 2}, begin).exit_code, 0);
  EXPECT_EQ(RunProgramOnRanks({}, resume).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(one.file()));
}

}  // namespace
}  // namespace reprise::testing
