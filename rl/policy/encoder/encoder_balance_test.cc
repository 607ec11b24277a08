// Load balancing of an encoder's routers.

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/policy/encoder/encoder_testing.h"

namespace reprise::rl {
namespace {

using testing::Pass;
using testing::RandomPolicy;
using testing::RunPass;
using testing::SmallEncoder;
using testing::TextShard;

class EncoderBalanceTest : public ::testing::Test {
 protected:
  EncoderBalanceTest()
      : config_(SmallEncoder()), policy_(RandomPolicy(config_, /*has_values=*/true, 1)), shard_(config_, 4) {}

  const models::DecoderConfig config_;
  const std::unique_ptr<EncoderPolicy> policy_;
  const TextShard shard_;
};

// Texts are shared by the groups, which one shard has, or two or four: what is balanced is the same.
TEST_F(EncoderBalanceTest, LoadBalancingDoesNotDependOnHowPromptsAreDealtToShards) {
  const ShardInput all = shard_.input();
  ASSERT_EQ(all.size(), 4u);
  const PassTotals whole = testing::ComputeTotals(*policy_, all);
  const Pass expected = RunPass(*policy_, all, {.totals = whole});
  for (const std::vector<ShardInput>& dealt :
       {std::vector<ShardInput>{{all[0], all[1]}, {all[2], all[3]}}, {{all[0]}, {all[1]}, {all[2]}, {all[3]}}}) {
    PassTotals totals = {.count_C = std::vector<int64_t>(policy_->num_counts())};
    for (const ShardInput& shard : dealt) {
      const PassTotals own = testing::ComputeTotals(*policy_, shard);
      totals.rows = totals.step_rows += own.step_rows;
      for (size_t c = 0; c < own.count_C.size(); ++c) totals.count_C[c] += own.count_C[c];
    }
    EXPECT_EQ(totals.step_rows, whole.step_rows);
    EXPECT_EQ(totals.count_C, whole.count_C);
    std::vector<double> sum_M(expected.sum_M.size()), gradient(expected.gradient.size());
    for (const ShardInput& shard : dealt) {
      const Pass pass = RunPass(*policy_, shard, {.totals = totals});
      for (size_t m = 0; m < sum_M.size(); ++m) sum_M[m] += pass.sum_M[m];
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += static_cast<double>(pass.gradient[i]);
    }
    EXPECT_NEAR(policy_->OwnMetrics(totals, sum_M)[0].second, policy_->OwnMetrics(whole, expected.sum_M)[0].second,
                1e-12);
    for (size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], static_cast<double>(expected.gradient[i]), 2e-5) << i;
    }
  }
}

TEST_F(EncoderBalanceTest, LoadBalancingCountsTheRowsOfTheTextsOfAllDecisions) {
  const PassTotals totals = testing::ComputeTotals(*policy_, shard_.input());
  int64_t chosen = 0;
  for (const int64_t count : totals.count_C) chosen += count;
  EXPECT_EQ(chosen, totals.step_rows * config_.num_hidden_layers * config_.num_experts_per_tok);
  const auto cut = policy_->NewWorkspace({.max_rows = 3}, Team());
  EXPECT_EQ(policy_->CountShard(shard_.input(), cut.get()), totals.count_C);
  const Pass pass = RunPass(*policy_, shard_.input(), {.totals = totals});
  double probability = 0;
  for (const double sum : pass.sum_M) probability += sum;
  EXPECT_NEAR(probability, static_cast<double>(totals.step_rows * config_.num_hidden_layers), 1e-4);
  EXPECT_NE(pass.gradient, RunPass(*policy_, shard_.input()).gradient);
  models::DecoderConfig config = config_;
  config.router_aux_loss_coef = 0;
  const auto without = RandomPolicy(config, true, 1);
  EXPECT_EQ(without->num_counts(), 0u);
  EXPECT_TRUE(without->CountShard(shard_.input(), cut.get()).empty());
  EXPECT_TRUE(without->OwnMetrics(totals, {}).empty());
  EXPECT_EQ(RunPass(*without, shard_.input()).gradient, RunPass(*policy_, shard_.input()).gradient);
}

}  // namespace
}  // namespace reprise::rl
