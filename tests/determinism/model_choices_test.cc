// Promise: the same bytes with keys that small.toml leaves at their defaults (variant.toml): shared and clipped
// attention keys, tied embeddings, filtered sampling, batch-wide scales; and with adapters of a frozen model.

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"
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

// Returns a value of the metrics of a run's line, 0 for the first.
double Metric(const std::string& directory, size_t line, const std::string& name) {
  return JsonLines(Contents(directory + "/metrics.jsonl")).at(line).at(name);
}

TEST(AdaptersTest, GiveTheSameBytesOnAnyRanksAndForAnyExecutionAndAreReproduced) {
  const TrainedRun one = Train(kSmallRun, kAdapters, {});
  ASSERT_FALSE(one.run_sha256.empty());
  EXPECT_EQ(Train(kSmallRun, kAdapters, {.ranks = 3}).run_sha256, one.run_sha256);
  const TrainedRun pieces =
      Train(kSmallRun, With({"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"}),
            {.ranks = 4, .isa = "avx2"});
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_GT(pieces.counts.refills, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
  for (const char* mode : {"replay", "regenerate"}) EXPECT_TRUE(Reproduce(one.file(), mode, {.ranks = 2}).pass) << mode;
}

// The first loss is that of the model without adapters, bit for bit; the second one follows an update.
TEST(AdaptersTest, ChangeNothingBeforeTheFirstUpdate) {
  const TrainedRun with = Train(kSmallRun, kAdapters, {}), without = Train(kSmallRun, {"algorithm.beta=0.05"}, {});
  EXPECT_EQ(Metric(with.directory, 0, "loss"), Metric(without.directory, 0, "loss"));
  EXPECT_NE(Metric(with.directory, 1, "loss"), Metric(without.directory, 1, "loss"));
}

TEST(AdaptersTest, AValueHeadIsTrainedWholeBesideThem) {
  const std::vector<std::string> ppo = {"lora.r=3", "lora.dropout=0.1", "algorithm.name=ppo",
                                        "algorithm.value_model=head", "algorithm.num_mini_batches=2"};
  const TrainedRun one = Train(kSmallRun, ppo, {});
  ASSERT_FALSE(one.run_sha256.empty());
  EXPECT_EQ(Train(kSmallRun, ppo, {.ranks = 3}).run_sha256, one.run_sha256);
  for (const char* mode : {"replay", "regenerate"}) EXPECT_TRUE(Reproduce(one.file(), mode, {.ranks = 2}).pass) << mode;
  // So small an alpha leaves the hidden states, which the head reads, and the samples as they are.
  const auto last_values = [&](const std::string& rate) {
    std::vector<std::string> head_alone = ppo;
    head_alone.insert(head_alone.end(), {"lora.alpha=1e-6", "sft.steps=0", "optimizer.learning_rate=" + rate});
    return Metric(Train(kSmallRun, head_alone, {}).directory, 2, "critic/values/mean");
  };
  EXPECT_GT(std::fabs(last_values("0.1") - last_values("1e-30")), 0.1);
}

TEST(AdaptersTest, AStoppedRunIsResumedToTheSameBytesAndItsExportedAdaptersStartAnother) {
  const std::vector<std::string> evaluated = With({"evaluation.every=3", "evaluation.on_start=true", "sft.steps=0",
                                                   "evaluation.num_prompts=24", "optimizer.learning_rate=1e-2"});
  const TrainedRun whole = Train(kSmallRun, evaluated, {});
  const std::string directory = UniqueTemporaryPath(), other = UniqueTemporaryPath();
  std::vector<std::string> train = {"pipelines/train", kSmallRun, "--quiet"};
  for (const std::string& override : evaluated) train.insert(train.end(), {"--set", override});
  std::vector<std::string> begin = train, resume = train, next = train;
  begin.insert(begin.end(), {"--output", directory, "--stop-after-step", "1"});
  resume.insert(resume.end(), {"--output", directory, "--resume"});
  EXPECT_EQ(RunProgramOnRanks({}, begin).exit_code, 0);
  EXPECT_EQ(RunProgramOnRanks({.ranks = 2}, resume).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/run.h5"), Contents(whole.file()));
  next.insert(next.end(), {"--output", other, "--init-from", directory + "/model/adapter"});
  EXPECT_EQ(RunProgramOnRanks({}, next).exit_code, 0);
  // The other run begins where this one ended.
  const double begun = Metric(other, 0, "eval_start_greedy_reward");
  EXPECT_EQ(begun, Metric(directory, 2, "eval_greedy_reward"));
  EXPECT_NE(begun, Metric(directory, 0, "eval_start_greedy_reward"));
  EXPECT_TRUE(Reproduce(other + "/run.h5", "replay", {}, {"--init-from", directory + "/model/adapter"}).pass);
  EXPECT_THAT(Reproduce(other + "/run.h5", "replay", {}).process.err,
              ::testing::HasSubstr("give what they come from, a run or a directory of adapters: --init-from RUN.h5, "
                                   "RUN.h5@STEP or RUN/model/adapter"));
  std::filesystem::remove(directory + "/model/adapter/adapter_config.json");
  next[next.size() - 3] = UniqueTemporaryPath();
  const ProcessResult without = RunProgramOnRanks({}, next);
  EXPECT_EQ(without.exit_code, 64);
  EXPECT_THAT(without.err, ::testing::HasSubstr("model/adapter/adapter_config.json"));
}

}  // namespace
}  // namespace reprise::testing
