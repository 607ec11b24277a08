#include "rl/workloads/memory_agent/outcome_reward.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr OutcomeLimits kLimits = {.context_capacity = 100, .most_operations = 4};

MemoryOutcome Perfect() {
  return {.answer = 1.0,
          .context_used = 0,
          .context_most = 100,
          .has_prevented = true,
          .preserved = 1,
          .stored = 3,
          .relevant = 3,
          .has_maintained = true,
          .relevance = 1,
          .operations = 4};
}

TEST(OutcomeRewardTest, APerfectEpisodeHasRewardOne) {
  EXPECT_EQ(ComputeReward(Perfect(), kLimits), (OutcomeReward{.task = 1, .context = 1, .memory = 1, .total = 1}));
}

TEST(OutcomeRewardTest, AnEpisodeThatDoesNothingLacksAnAnswer) {
  const OutcomeReward reward = ComputeReward(MemoryOutcome(), kLimits);
  EXPECT_EQ(reward.task, -1.0);
  EXPECT_NEAR(reward.context, 1.0 / 3, 1e-15);  // an empty context is fully compressed
  EXPECT_EQ(reward.memory, 0.0);
  EXPECT_NEAR(reward.total, (-1 + 1.0 / 3) / 3, 1e-15);
}

TEST(OutcomeRewardTest, EachTermHasAThirdOfItsPart) {
  const auto loses = [](auto change) {
    MemoryOutcome outcome = Perfect();
    change(outcome);
    return 1 - ComputeReward(outcome, kLimits).total;
  };
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.answer = 0.4; }), 0.6 / 3, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.answer.reset(); }), 2.0 / 3, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.context_used = 50; }), 0.5 / 9, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.has_prevented = false; }), 1.0 / 9, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.preserved = 0.25; }), 0.75 / 9, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.stored = 6; }), 0.5 / 9, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.has_maintained = false; }), 1.0 / 9, 1e-15);
  EXPECT_NEAR(loses([](MemoryOutcome& o) { o.relevance = 0.5; }), 0.5 / 9, 1e-15);
}

TEST(OutcomeRewardTest, TooManyOperationsAndAnOverflowAreAddedPenalties) {
  MemoryOutcome outcome = Perfect();
  outcome.operations = 5;
  EXPECT_EQ(ComputeReward(outcome, kLimits).penalty, -1.0);
  outcome.context_most = 101;
  EXPECT_EQ(ComputeReward(outcome, kLimits).penalty, -1.5);
  EXPECT_EQ(ComputeReward(outcome, kLimits).total, -0.5);
  outcome.context_used = 250;  // compression is never negative
  EXPECT_NEAR(ComputeReward(outcome, kLimits).context, 2.0 / 3, 1e-15);
}

}  // namespace
}  // namespace reprise::rl
