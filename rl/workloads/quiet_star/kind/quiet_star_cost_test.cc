#include "rl/workloads/quiet_star/kind/quiet_star_cost.h"

#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

Config SmallRun() {
  Config config;
  config.run.workload = "quiet_star";
  config.rollout.prompts_per_step = 16;
  config.rollout.num_generations = 4;
  config.data.task = "addition";
  config.data.max_length = 5;
  return config;
}

int64_t FindBytes(const RunCost& cost, const std::string& item) {
  for (const MemoryItem& of : cost.memory.items) {
    if (of.what == item) return of.bytes;
  }
  ADD_FAILURE() << item;
  return 0;
}

RunCost EstimateCost(const Config& config, int64_t ranks = 1) {
  const absl::StatusOr<RunCost> cost = EstimateQuietStar(config, ranks, /*threads=*/1);
  EXPECT_OK(cost);
  return *cost;
}

TEST(QuietStarCostTest, SizesAreThoseOfTheLongestTexts) {
  const models::ThoughtSizes sizes = MakeThoughtSizes(SmallRun(), 3);
  EXPECT_EQ(sizes.texts, 3);
  EXPECT_EQ(sizes.text_tokens, 18);  // 12345+12345=123456 and its end
  EXPECT_EQ(sizes.thoughts(), 17 * 4);
}

TEST(QuietStarCostTest, MicroBatchesAndSlotsBoundTheMemory) {
  Config config = SmallRun();
  const RunCost whole = EstimateCost(config);
  EXPECT_GT(whole.memory.total_bytes(), 4 * whole.layout.total);
  config.execution.micro_batch_tokens = 256;
  config.execution.decode_slots = 32;
  const RunCost bounded = EstimateCost(config);
  EXPECT_LT(FindBytes(bounded, "activations and hidden states"), FindBytes(whole, "activations and hidden states") / 5);
  EXPECT_LT(FindBytes(bounded, "sampling of thoughts"), FindBytes(whole, "sampling of thoughts") / 5);
  EXPECT_EQ(bounded.operations.total(), whole.operations.total());
}

TEST(QuietStarCostTest, ARankOfSeveralSamplesFewerThoughts) {
  const Config config = SmallRun();
  EXPECT_LT(FindBytes(EstimateCost(config, 4), "sampling of thoughts"),
            FindBytes(EstimateCost(config), "sampling of thoughts") / 3);
}

TEST(QuietStarCostTest, MoreAndLongerThoughtsCostMore) {
  Config config = SmallRun();
  const StepOperations before = EstimateCost(config).operations;
  config.rollout.num_generations = 8;
  const StepOperations more = EstimateCost(config).operations;
  EXPECT_GT(more.sampling, 1.8 * before.sampling);
  EXPECT_GT(more.backward, 1.8 * before.backward);
  config.quiet_star.max_thought_length *= 2;
  EXPECT_GT(EstimateCost(config).operations.sampling, 1.8 * more.sampling);
}

}  // namespace
}  // namespace reprise::rl
