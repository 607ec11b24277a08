// Promise: the same bytes with weights in bf16 (bf16.toml), and equal numbers in sampling and training.

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

constexpr char kBf16[] = "tests/determinism/bf16.toml";

TEST(WeightsDtypeTest, Bf16GivesTheSameBytesOnAnyRanksAndForAnyExecution) {
  const TrainedRun one = Train(kBf16, {}, {});
  ASSERT_FALSE(one.run_sha256.empty());

  const TrainedRun ranks = Train(kBf16, {}, {.ranks = 3});
  EXPECT_EQ(ranks.counts.ranks, 3);
  EXPECT_EQ(ranks.run_sha256, one.run_sha256);

  const TrainedRun pieces =
      Train(kBf16, {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"},
            {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(pieces.counts.avx2_ranks, 4);
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_GT(pieces.counts.refills, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
}

TEST(WeightsDtypeTest, ABf16RunIsReproduced) {
  const TrainedRun run = Train(kBf16, {}, {});
  for (const char* mode : {"replay", "regenerate"}) EXPECT_TRUE(Reproduce(run.file(), mode, {.ranks = 2}).pass) << mode;
}

TEST(WeightsDtypeTest, TheBf16TrainerComputesTheSamplersLogProbabilities) {
  const std::string key = "\"sampling/sampling_logp_difference/max\":";
  int64_t steps = 0;
  std::ifstream metrics(Train(kBf16, {}, {}).directory + "/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const size_t at = line.find(key);
    if (at == std::string::npos) continue;  // SFT phase samples nothing
    EXPECT_EQ(std::strtod(line.c_str() + at + key.size(), nullptr), 0.0) << line;
    ++steps;
  }
  EXPECT_EQ(steps, 3);
}

TEST(WeightsDtypeTest, ABf16RunThatWasStoppedAndResumedHasTheSameBytes) {
  const TrainedRun whole = Train(kBf16, {}, {});
  const std::string directory = UniqueTemporaryPath();
  const std::vector<std::string> train = {"pipelines/train", kBf16, "--output", directory, "--quiet"};
  std::vector<std::string> begin = train, resume = train;
  begin.insert(begin.end(), {"--stop-after-step", "1"});
  resume.push_back("--resume");
  EXPECT_EQ(RunProgramOnRanks({}, begin).exit_code, 0);
  EXPECT_EQ(RunProgramOnRanks({.ranks = 2}, resume).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(whole.file()));
}

TEST(WeightsDtypeTest, Bf16GivesOtherBitsThanFloats) {
  EXPECT_NE(Train(kBf16, {}, {}).weights_sha256, Train(kBf16, {"model.weights_dtype=float32"}, {}).weights_sha256);
}

}  // namespace
}  // namespace reprise::testing
