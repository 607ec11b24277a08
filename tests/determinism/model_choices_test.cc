// Promise: the same bytes with keys that small.toml leaves at their defaults (variant.toml): shared and clipped
// attention keys, tied embeddings, filtered sampling, batch-wide scales; and with adapters of a frozen model.

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

constexpr char kVariant[] = "tests/golden_trace/variant.toml";

TEST(ModelChoicesTest, OtherModelsSamplersAndScalesGiveTheSameBytesToo) {
  const TrainedRun one = Train(kVariant, {}, {});
  ASSERT_FALSE(one.run_sha256.empty());

  const TrainedRun ranks = Train(kVariant, {}, {.ranks = 3});
  EXPECT_EQ(ranks.counts.ranks, 3);
  EXPECT_EQ(ranks.run_sha256, one.run_sha256);

  const TrainedRun pieces =
      Train(kVariant, {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"},
            {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(pieces.counts.threads, 8);
  EXPECT_EQ(pieces.counts.avx2_ranks, 4);
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_GT(pieces.counts.refills, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
}

const std::vector<std::string> kAdapters = {"lora.r=3", "lora.dropout=0.1", "algorithm.beta=0.05"};

std::vector<std::string> With(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), kAdapters.begin(), kAdapters.end());
  return overrides;
}

TEST(AdaptersTest, GiveTheSameBytesOnAnyRanksAndForAnyExecutionAndAreReproduced) {
  const TrainedRun one = Train(kSmallRun, kAdapters, {});
  ASSERT_FALSE(one.run_sha256.empty());
  EXPECT_NE(one.run_sha256, Train(kSmallRun, {"algorithm.beta=0.05"}, {}).run_sha256);
  EXPECT_EQ(Train(kSmallRun, kAdapters, {.ranks = 3}).run_sha256, one.run_sha256);
  const TrainedRun pieces =
      Train(kSmallRun, With({"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"}),
            {.ranks = 4, .isa = "avx2"});
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_GT(pieces.counts.refills, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
  for (const char* mode : {"replay", "regenerate"}) EXPECT_TRUE(Reproduce(one.file(), mode, {.ranks = 2}).pass) << mode;
}

TEST(AdaptersTest, AStoppedRunIsResumedToTheSameBytesAndItsExportedAdaptersStartAnother) {
  const TrainedRun whole = Train(kSmallRun, kAdapters, {});
  const std::string directory = UniqueTemporaryPath(), other = UniqueTemporaryPath();
  std::vector<std::string> train = {"pipelines/train", kSmallRun, "--quiet"};
  for (const std::string& override : kAdapters) train.insert(train.end(), {"--set", override});
  std::vector<std::string> begin = train, resume = train, next = train;
  begin.insert(begin.end(), {"--output", directory, "--stop-after-step", "1"});
  resume.insert(resume.end(), {"--output", directory, "--resume"});
  EXPECT_EQ(RunProgramOnRanks({}, begin).exit_code, 0);
  EXPECT_EQ(RunProgramOnRanks({.ranks = 2}, resume).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(whole.file()));
  EXPECT_NE(Contents(directory + "/model/adapter/adapter_model.safetensors"), "");
  next.insert(next.end(), {"--output", other, "--init-from", directory + "/model/adapter"});
  EXPECT_EQ(RunProgramOnRanks({}, next).exit_code, 0);
  EXPECT_NE(Contents(other + "/run.h5"), Contents(whole.file()));
  std::filesystem::remove(directory + "/model/adapter/adapter_config.json");
  next[next.size() - 3] = UniqueTemporaryPath();
  const ProcessResult without = RunProgramOnRanks({}, next);
  EXPECT_EQ(without.exit_code, 64);
  EXPECT_THAT(without.err, ::testing::HasSubstr("model/adapter/adapter_config.json"));
}

}  // namespace
}  // namespace reprise::testing
