#include "rl/workloads/memory_agent/operation_reward.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

constexpr OperationRewardOptions kClamped = {}, kOriginal = {.mode = RewardMode::kOriginal};

OperationResult Succeeded(MemoryOperation operation, double latency_ms, int64_t input = 0, int64_t output = 0) {
  return {.operation = operation,
          .succeeded = true,
          .latency_ms = latency_ms,
          .input_length = input,
          .output_length = output};
}

OperationResult Retrieved(double latency_ms, int64_t retrieved, std::optional<int64_t> relevant = std::nullopt) {
  OperationResult result = Succeeded(MemoryOperation::kRetrieve, latency_ms);
  result.retrieved = retrieved;
  result.relevant = relevant;
  return result;
}

TEST(OperationRewardTest, CompositesAreThoseOfTheSpecification) {
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kAdd, 100), kOriginal).composite, 1.0, 1e-12);
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kAdd, 0), kOriginal).composite, 1.515485, 5e-7);
  const OperationResult failed = {.operation = MemoryOperation::kDelete, .succeeded = false, .latency_ms = 50};
  EXPECT_NEAR(ComputeReward(failed, kOriginal).composite, 0.244616, 5e-7);
  EXPECT_NEAR(ComputeReward(Retrieved(200, 5, 3), kOriginal).composite, 0.730364, 5e-7);
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kSummary, 500, 100, 40), kOriginal).composite, 0.685495, 5e-7);
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kFilter, 1000, 10, 8), kOriginal).composite, 0.58, 1e-12);
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kSummary, 100, 100, 250), kOriginal).composite, 0.56, 1e-12);
}

// The original efficiency is up to e below the optimal latency, and a summary's quality can be negative.
TEST(OperationRewardTest, ClampedPartsAreWithinZeroAndOne) {
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kAdd, 0), kClamped).efficiency, 1.0);
  EXPECT_NEAR(ComputeReward(Succeeded(MemoryOperation::kAdd, 0), kOriginal).efficiency, 2.718281828459045, 1e-15);
  const OperationResult longer = Succeeded(MemoryOperation::kSummary, 100, 100, 250);
  EXPECT_EQ(ComputeReward(longer, kClamped).quality, 0.0);
  EXPECT_NEAR(ComputeReward(longer, kOriginal).quality, -1.2, 1e-15);
  EXPECT_NEAR(ComputeReward(longer, kClamped).composite, 0.8, 1e-15);
}

TEST(OperationRewardTest, EfficiencyIsZeroFromTheGreatestLatencyOn) {
  EXPECT_GT(ComputeReward(Succeeded(MemoryOperation::kAdd, 999.999), kClamped).efficiency, 0.0);
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kAdd, 1000), kClamped).efficiency, 0.0);
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kAdd, 1e9), kClamped).efficiency, 0.0);
}

TEST(OperationRewardTest, RetrieveCountsRelevantEpisodesOrElseAll) {
  EXPECT_EQ(ComputeReward(Retrieved(100, 4), kClamped).quality, 0.8);
  EXPECT_EQ(ComputeReward(Retrieved(100, 4, 0), kClamped).quality, 0.0);
  EXPECT_EQ(ComputeReward(Retrieved(100, 4, 2), kClamped).quality, 0.4);
  EXPECT_EQ(ComputeReward(Retrieved(100, 9), kOriginal).quality, 1.0);
}

TEST(OperationRewardTest, AMissingLengthHasTheQualityOfOneHalf) {
  for (const MemoryOperation operation : {MemoryOperation::kSummary, MemoryOperation::kFilter}) {
    EXPECT_EQ(ComputeReward(Succeeded(operation, 100, 0, 10), kClamped).quality, 0.5);
    EXPECT_EQ(ComputeReward(Succeeded(operation, 100, 10, 0), kClamped).quality, 0.5);
  }
}

TEST(OperationRewardTest, AFilterThatRemovesTheWantedShareHasTheQualityOne) {
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kFilter, 100, 10, 10), kClamped).quality, 0.0);
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kFilter, 100, 8, 6), kClamped).quality, 0.5);
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kFilter, 100, 8, 4), kClamped).quality, 1.0);
  EXPECT_EQ(ComputeReward(Succeeded(MemoryOperation::kFilter, 100, 8, 1), kClamped).quality, 1.0);
}

RC_GTEST_PROP(OperationRewardTest, OfEveryResultIsWithinTheWeightsBounds, ()) {
  OperationResult result;
  result.operation = static_cast<MemoryOperation>(*rc::gen::inRange<size_t>(0, data::kMemoryOperationCount));
  result.succeeded = *rc::gen::arbitrary<bool>();
  result.latency_ms = *rc::gen::inRange<int>(0, 3000) * 0.5;
  result.retrieved = *rc::gen::inRange<int64_t>(0, 50);
  result.input_length = *rc::gen::inRange<int64_t>(0, 100);
  result.output_length = *rc::gen::inRange<int64_t>(0, 200);
  const OperationReward reward = ComputeReward(result, kClamped);
  RC_ASSERT(reward.efficiency >= 0.0 && reward.efficiency <= 1.0);
  RC_ASSERT(reward.quality >= 0.0 && reward.quality <= 1.0);
  RC_ASSERT(reward.composite >= -0.25 && reward.composite <= 1.0 + 1e-12);
  // The modes differ only where the original leaves the bounds.
  const OperationReward original = ComputeReward(result, kOriginal);
  if (original.efficiency <= 1 && original.quality >= 0) RC_ASSERT(original == reward);
}

TEST(OperationRewardTest, LaterRewardsOfATrajectoryAreDiscounted) {
  EXPECT_EQ(DiscountedReward({}), 0.0);
  EXPECT_NEAR(DiscountedReward({1.0, 0.5, -0.25}), 1.0 + 0.99 * 0.5 - 0.99 * 0.99 * 0.25, 1e-15);
  EXPECT_EQ(DiscountedReward({2.0, 100.0}, 0.0), 2.0);
}

TEST(OperationRewardTest, TheBonusOfRecallIsDividedAmongTheOperations) {
  EXPECT_EQ(RecallBonus(0, 3, 0.5, 4), 0.0);
  EXPECT_NEAR(RecallBonus(2, 3, 0.5, 4), 0.5 * 2 / 3 / 4, 1e-16);
  EXPECT_EQ(RecallBonus(3, 3, 0.5, 4), 0.125);
  EXPECT_EQ(RecallBonus(9, 3, 0.5, 4), 0.125);
}

}  // namespace
}  // namespace reprise::rl
