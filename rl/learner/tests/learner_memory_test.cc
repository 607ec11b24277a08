// Tests that steps stop allocating memory after the first steps: all large buffers are reused.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"

namespace {

constexpr size_t kLarge = 32 << 10;  // smaller: records of the step; larger: tensors and rows
std::atomic<int64_t> large_allocations{0};

void* Count(size_t bytes, void* memory) {
  if (bytes >= kLarge) large_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// Vectors and tensors are allocated by these functions. Not inlined: GCC would see one of a pair, and warn of a
// mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) { return Count(bytes, std::malloc(bytes)); }
__attribute__((noinline)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Count(bytes, std::malloc(bytes));
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) { return Count(bytes, memalign(alignment, bytes)); }

namespace reprise::rl {
namespace {

// Returns the number of large allocations of each training step, from its first drawn episode to that of the next step.
std::vector<int64_t> LargeAllocationsOfSteps(const Config& config) {
  std::vector<int64_t> before;
  testing::RunOptions how;
  how.spoil = [&](int, Phase phase, int64_t, models::Model&, Episodes&) {
    if (phase == Phase::kTraining) before.push_back(large_allocations);
  };
  testing::Outcome outcome;
  before.reserve(100);
  outcome.sink.records.reserve(100);
  EXPECT_OK(testing::RunLearner(config, how, &outcome));
  std::vector<int64_t> allocations;
  for (size_t i = 0; i + 1 < before.size(); ++i) allocations.push_back(before[i + 1] - before[i]);
  return allocations;
}

// Rows, caches, gradients and logits each take more than kLarge.
Config RunOfLargeParts() {
  Config config = testing::SmallRun();
  config.run.steps = 30;
  config.run.logical_shards = 2;
  config.model.hidden_size = config.model.intermediate_size = 64;
  config.data.min_length = config.data.max_length;
  config.rollout.max_completion_length = 20;
  config.optimizer.learning_rate = 0;  // completions of all lengths occur soon
  return config;
}

TEST(LearnerMemoryTest, TheCounterSeesTensorsAndVectors) {
  const int64_t before = large_allocations;
  const Tensor tensor("", DType::kF32, {kLarge});
  const std::vector<float> vector(kLarge);
  EXPECT_EQ(large_allocations - before, 2);
}

TEST(LearnerMemoryTest, StepsAllocateNothingUnlessTheyAreLargerThanEarlierOnes) {
  for (const auto& [micro_batch, tied] : {std::pair(0, false), {100, false}, {0, true}}) {
    Config config = RunOfLargeParts();
    config.execution.micro_batch_tokens = micro_batch;
    config.model.tie_word_embeddings = tied;
    if (tied) config.rollout.min_new_tokens = config.rollout.max_completion_length - 1;  // steps of one size
    const std::vector<int64_t> allocations = LargeAllocationsOfSteps(config);
    ASSERT_EQ(allocations.size(), 29u);
    EXPECT_GT(allocations[0], 0) << "the first step's gradients and rows";
    for (size_t i = 20; i < allocations.size(); ++i) EXPECT_EQ(allocations[i], 0) << "step " << i + 2;
  }
}

}  // namespace
}  // namespace reprise::rl
