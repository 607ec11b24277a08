#include "rl/metrics/episode_metrics.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// Two prompts with two episodes each, of whose three decisions the second is learned.
StepRecord Step() {
  StepRecord record;
  record.step = 7;
  for (int64_t n = 0; n < 4; ++n) {
    EpisodeRecord& episode = record.episode_N.emplace_back();
    episode.prompt = n / 2;
    episode.sample = n % 2;
    episode.logprobs = {-1.0f, -2.0f * static_cast<float>(n + 1), -4.0f};
    episode.decisions = {.count = 3, .learned_T = {0, 1, 0}};
    episode.reward = static_cast<double>(n * n);
    episode.advantage = static_cast<double>(n) - 1;
  }
  return record;
}

const std::vector<uint8_t> kAllValid(4, 0), kLastInvalid = {0, 0, 0, 1};

std::map<std::string, double> Reported(const EpisodeMetricInputs& inputs) {
  std::vector<EpisodeOutcome> outcomes(4);
  for (size_t n = 0; n < 4; ++n) {
    outcomes[n].loss = 2;
    outcomes[n].metrics.policy_loss = 1.5;
  }
  const auto metrics = EpisodeMetrics(inputs, Step(), outcomes);
  return {metrics.begin(), metrics.end()};
}

AlgorithmConfig LeaveOneOut() {
  AlgorithmConfig row;
  row.advantage.baseline = Baseline::kLeaveOneOut;
  return row;
}

TEST(EpisodeMetricsTest, CoverAllEpisodesWhereNoneIsInvalid) {
  AlgorithmConfig row = LeaveOneOut();
  row.update = {.num_iterations = 2};
  auto reported = Reported({.algorithm = row, .invalid_N = kAllValid, .learning_rate = 0.25, .num_mini_batches = 2});
  EXPECT_EQ(reported["loss/total"], 4);
  EXPECT_EQ(reported["loss/policy_gradient"], 3);
  EXPECT_EQ(reported["rewards/mean"], 3.5);  // 0 1 4 9
  EXPECT_NEAR(reported["rewards/std"], std::sqrt((3.5 * 3.5 + 2.5 * 2.5 + 0.5 * 0.5 + 5.5 * 5.5) / 3), 1e-15);
  EXPECT_EQ(reported["advantages/mean"], 0.5);  // -1 0 1 2
  EXPECT_NEAR(reported["advantages/std"], std::sqrt(5.0 / 3), 1e-15);
  EXPECT_EQ(reported["baselines/mean"], 3.5);
  EXPECT_EQ(reported["logprobs/mean"], -5);  // -2 -4 -6 -8
  EXPECT_EQ(reported["lr"], 0.25);
  EXPECT_EQ(reported["epoch"], 14);
}

TEST(EpisodeMetricsTest, LeaveOutInvalidEpisodesAndBaselinesOfLoneEpisodes) {
  AlgorithmConfig row = LeaveOneOut();
  auto reported = Reported({.algorithm = row, .invalid_N = kLastInvalid});
  EXPECT_NEAR(reported["rewards/mean"], 5.0 / 3, 1e-15);
  EXPECT_EQ(reported["baselines/mean"], 0.5);
  EXPECT_EQ(reported["logprobs/mean"], -4);
  EXPECT_EQ(MeanActionTokens(Step(), kLastInvalid), 1);
  row.advantage.baseline_over_batch = true;
  reported = Reported({.algorithm = row, .invalid_N = kLastInvalid});
  EXPECT_NEAR(reported["baselines/mean"], 5.0 / 3, 1e-15);
}

TEST(EpisodeMetricsTest, BaselinesUseClippedRewardsAndTheMeanRewardDoesNot) {
  AlgorithmConfig row = LeaveOneOut();
  row.advantage.reward_clip_range = std::pair(0.5, 2.0);
  auto reported = Reported({.algorithm = row, .invalid_N = kAllValid});
  EXPECT_EQ(reported["rewards/mean"], 3.5);
  EXPECT_EQ(reported["baselines/mean"], 1.375);  // of 0.5 1 2 2
}

TEST(EpisodeMetricsTest, TheDeviationOfASingleEpisodeIsZero) {
  StepRecord record = Step();
  record.episode_N.resize(1);
  std::map<std::string, double> reported;
  const EpisodeMetricInputs inputs = {.algorithm = AlgorithmConfig(), .invalid_N = kAllValid};
  for (const auto& [name, value] : EpisodeMetrics(inputs, record, {})) reported[name] = value;
  EXPECT_EQ(reported["rewards/std"], 0);
  EXPECT_EQ(reported["advantages/std"], 0);
  EXPECT_FALSE(reported.contains("baselines/mean"));
}

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
