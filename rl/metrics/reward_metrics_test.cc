#include "rl/metrics/reward_metrics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RewardMetricsTest, AveragesOverGroupsAndCountsThoseWithoutSignal) {
  // Weighted rewards: {1, 3}, {2, 2}.
  const std::vector<double> rewards_NF = {1, 0, 1, 4, 2, 0, 1, 2};
  const std::vector<double> weights_F = {1.0, 0.5};
  const RewardMetrics metrics =
      SummarizeRewards({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 2});
  EXPECT_EQ(metrics.reward, 2.0);
  // As in TRL: the deviation of {1, 3, 2, 2} from its mean 2, with divisor n - 1.
  EXPECT_EQ(metrics.reward_std, std::sqrt(2.0 / 3));
  EXPECT_EQ(metrics.reward_group_std, std::sqrt(2.0) / 2);
  EXPECT_EQ(metrics.frac_reward_zero_std, 0.5);
  EXPECT_EQ(metrics.mean_F, (std::vector<double>{1.25, 1.5}));
  EXPECT_EQ(metrics.std_F[0], 0.5);
  EXPECT_EQ(metrics.num_unscorable, 0);
}

TEST(RewardMetricsTest, AFunctionOfNoWeightScoresNothing) {
  const std::vector<double> rewards_NF = {0, kNan, 1, 4};
  const std::vector<double> weights_F = {0.0, 1.0}, no_weights_F = {0.0, 0.0};
  const RewardMetrics metrics =
      SummarizeRewards({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 2});
  EXPECT_EQ(metrics.num_unscorable, 1);
  EXPECT_EQ(metrics.reward, 4.0);
  EXPECT_EQ(
      SummarizeRewards({.rewards_NF = rewards_NF, .weights_F = no_weights_F, .num_generations = 2}).num_unscorable, 0);
}

TEST(RewardMetricsTest, LeavesOutUnscorableSamples) {
  const std::vector<double> rewards_NF = {1, kNan, kNan, kNan};
  const std::vector<double> weights_F = {1.0};
  const RewardMetrics metrics =
      SummarizeRewards({.rewards_NF = rewards_NF, .weights_F = weights_F, .num_generations = 2});
  EXPECT_EQ(metrics.reward, 1.0);
  EXPECT_EQ(metrics.reward_std, 0.0);
  EXPECT_EQ(metrics.reward_group_std, 0.0);
  EXPECT_EQ(metrics.frac_reward_zero_std, 1.0);
  EXPECT_EQ(metrics.num_unscorable, 3);
}

}  // namespace
}  // namespace reprise::rl
