// Promise: a rank's peak memory is what `validate` predicts, within 10%.

#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/testing/sanitizers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kWide[] = "tests/cost_model/wide.toml", kAgent[] = "configs/memory_agent.toml",
               kGrowth[] = "configs/morphogenesis.toml", kThoughts[] = "configs/quiet_star.toml";

// Returns the estimate's total in bytes and prints its terms.
double EstimatedBytes(const std::string& config, int ranks, const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments = {"pipelines/validate", config, "--json", "--ranks", std::to_string(ranks)};
  for (const std::string& override : overrides) {
    arguments.push_back("--set");
    arguments.push_back(override);
  }
  const ProcessResult result = RunProgramOnRanks({}, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json memory = nlohmann::json::parse(result.out.substr(0, result.out.find('\n')));
  for (const auto& item : memory.at("items")) {
    std::printf("  %-26s %7.1f MiB\n", item.at("what").get<std::string>().c_str(),
                item.at("bytes").get<double>() / 1048576);
  }
  return memory.at("total_bytes");
}

void ExpectWithinATenth(int ranks, const std::vector<std::string>& overrides, const std::string& config = kWide) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer\'s shadow memory counts as the program\'s";
  const double estimated = EstimatedBytes(config, ranks, overrides);
  const TrainedRun run = Train(config, overrides, {.ranks = ranks});
  const double measured = static_cast<double>(run.counts.peak_memory);
  std::printf("%d ranks: measured %.1f MiB, estimated %.1f MiB\n", ranks, measured / 1048576, estimated / 1048576);
  EXPECT_LT(std::fabs(measured - estimated), 0.1 * estimated);
}

// This test comes first, because the system tells the memory of the largest process until now. execution.jsonl is
// written before the export.
TEST(PeakMemoryTest, AdaptersAreMergedInThePredictedMemory) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer's shadow memory counts as the program's";
  const std::vector<std::string> adapters = {"lora.r=8", "rollout.prompts_per_step=2", "run.logical_shards=1",
                                             "rollout.num_generations=2"};
  const double estimated = EstimatedBytes(kWide, 1, adapters);
  const TrainedRun run = Train(kWide, adapters, {});
  rusage children = {};
  ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &children), 0);
  const double measured = 1024.0 * static_cast<double>(children.ru_maxrss);
  std::printf("measured %.1f MiB, estimated %.1f MiB\n", measured / 1048576, estimated / 1048576);
  EXPECT_LT(std::fabs(measured - estimated), 0.1 * estimated);
  EXPECT_GT(measured, 1.1 * static_cast<double>(run.counts.peak_memory));  // the export needs more than training
}

TEST(PeakMemoryTest, OneRankUsesThePredictedMemory) { ExpectWithinATenth(1, {}); }

TEST(PeakMemoryTest, TwoRanksUseThePredictedMemory) { ExpectWithinATenth(2, {}); }

TEST(PeakMemoryTest, ThreadsAndMicroBatchesUseThePredictedMemory) {
  ExpectWithinATenth(1, {"execution.threads=2", "execution.micro_batch_tokens=64", "run.logical_shards=8"});
}

TEST(PeakMemoryTest, AReferenceModelUsesThePredictedMemory) {
  ExpectWithinATenth(2, {"algorithm.beta=0.1", "execution.activation_checkpointing=true"});
}

// For a small model with many rows, a third of all memory is the activations of the reference model, whose forward pass
// runs in every update.
TEST(PeakMemoryTest, TheExactDivergenceUsesThePredictedMemory) {
  const std::vector<std::string> many_rows = {"model.hidden_size=64",
                                              "model.intermediate_size=64",
                                              "run.logical_shards=1",
                                              "rollout.num_generations=32",
                                              "execution.activation_checkpointing=true",
                                              "algorithm.beta=0.1",
                                              "algorithm.kl_estimator=exact"};
  ExpectWithinATenth(1, many_rows);
  std::vector<std::string> cut = many_rows;
  cut.push_back("execution.micro_batch_tokens=4096");
  ExpectWithinATenth(1, cut);
}

TEST(PeakMemoryTest, AdaptersUseThePredictedMemory) {
  const std::vector<std::string> adapters = {"lora.r=8", "lora.dropout=0.1", "algorithm.beta=0.1"};
  ExpectWithinATenth(2, adapters);
  // A third of the memory is what adapters of wide matrices need in the passes over many rows.
  std::vector<std::string> many_rows = adapters;
  many_rows.insert(many_rows.end(),
                   {"model.hidden_size=64", "model.intermediate_size=1024", "model.num_experts=1",
                    "model.num_experts_per_tok=1", "model.num_hidden_layers=1", "lora.target_modules=up_proj down_proj",
                    "run.logical_shards=1", "rollout.num_generations=32"});
  ExpectWithinATenth(1, many_rows);
}

TEST(PeakMemoryTest, AMemoryAgentUsesThePredictedMemory) {
  const std::vector<std::string> wide = {
      "run.steps=1",           "memory.stage1_steps=0",       "memory.stage2_steps=0",
      "model.hidden_size=256", "model.intermediate_size=256", "model.num_hidden_layers=3",
      "model.num_experts=16",  "evaluation.every=1",          "artifact.checkpoint_every=0"};
  ExpectWithinATenth(1, wide, kAgent);
  std::vector<std::string> cut = wide;
  cut.insert(cut.end(), {"execution.micro_batch_tokens=256", "execution.threads=2", "evaluation.every=0"});
  ExpectWithinATenth(1, cut, kAgent);
  ExpectWithinATenth(2, wide, kAgent);
  std::vector<std::string> adapters = wide;
  adapters.insert(adapters.end(), {"lora.r=8", "lora.dropout=0.1"});
  ExpectWithinATenth(1, adapters, kAgent);
}

// Half of the memory are a host's activations; with small hosts it is LibTorch. With more threads a rank reaches the
// estimate only where they happen to train their largest batches at the same moment.
TEST(PeakMemoryTest, NetworksThatGrowUseThePredictedMemory) {
  const std::vector<std::string> images = {"run.steps=1",
                                           "evaluation.every=0",
                                           "rollout.prompts_per_step=2",
                                           "run.logical_shards=1",
                                           "algorithm.mini_batch_size=2",
                                           "morphogenesis.max_epochs=1",
                                           "morphogenesis.batch_size=64",
                                           "morphogenesis.train_examples=64",
                                           "morphogenesis.validation_examples=64"};
  std::vector<std::string> wide = images;
  wide.insert(wide.end(), {"morphogenesis.image_size=32", "morphogenesis.base_channels=32"});
  ExpectWithinATenth(1, wide, kGrowth);
  std::vector<std::string> text = images;
  text.insert(text.end(), {"morphogenesis.task=\"tinystories\"", "morphogenesis.width=64",
                           "morphogenesis.batch_size=32", "morphogenesis.block_size=128"});
  ExpectWithinATenth(1, text, kGrowth);
  std::vector<std::string> ranks = images;
  ranks.push_back("run.logical_shards=2");
  ExpectWithinATenth(2, ranks, kGrowth);
}

// Most of the memory is the keys and values of thoughts that are decoded at once.
TEST(PeakMemoryTest, SamplingThoughtsUsesThePredictedMemory) {
  const std::vector<std::string> many_thoughts = {"run.steps=2",
                                                  "sft.steps=0",
                                                  "evaluation.every=0",
                                                  "evaluation.on_start=false",
                                                  "quiet_star.anti_theater=false",
                                                  "quiet_star.positions=every",
                                                  "quiet_star.min_thought_length=8",
                                                  "quiet_star.max_thought_length=8",
                                                  "model.hidden_size=128",
                                                  "model.num_hidden_layers=3",
                                                  "rollout.prompts_per_step=8",
                                                  "run.logical_shards=8",
                                                  "execution.micro_batch_tokens=256"};
  ExpectWithinATenth(1, many_thoughts, kThoughts);
  std::vector<std::string> by_slots = many_thoughts;
  by_slots.push_back("execution.decode_slots=512");
  ExpectWithinATenth(1, by_slots, kThoughts);
  std::vector<std::string> adapters = many_thoughts;
  adapters.insert(adapters.end(), {"lora.r=4", "lora.dropout=0", "algorithm.beta=0.1", "algorithm.kl_estimator=exact"});
  ExpectWithinATenth(1, adapters, kThoughts);
}

}  // namespace
}  // namespace reprise::testing
