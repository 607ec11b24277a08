#include "rl/metrics/episode_metrics.h"

#include <cmath>
#include <limits>
#include <map>

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

AlgorithmRow LeaveOneOut() {
  AlgorithmRow row;
  row.advantage.baseline = Baseline::kLeaveOneOut;
  return row;
}

TEST(EpisodeMetricsTest, CoverAllEpisodesWhereNoneIsInvalid) {
  AlgorithmRow row = LeaveOneOut();
  row.update = {.num_iterations = 2, .num_mini_batches = 2};
  auto reported = Reported({.algorithm = row, .invalid_N = kAllValid, .learning_rate = 0.25});
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
  AlgorithmRow row = LeaveOneOut();
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
  AlgorithmRow row = LeaveOneOut();
  row.advantage.reward_clip_range = std::pair(0.5, 2.0);
  auto reported = Reported({.algorithm = row, .invalid_N = kAllValid});
  EXPECT_EQ(reported["rewards/mean"], 3.5);
  EXPECT_EQ(reported["baselines/mean"], 1.375);  // of 0.5 1 2 2
}

TEST(EpisodeMetricsTest, TheDeviationOfASingleEpisodeIsZero) {
  StepRecord record = Step();
  record.episode_N.resize(1);
  std::map<std::string, double> reported;
  const EpisodeMetricInputs inputs = {.algorithm = AlgorithmRow(), .invalid_N = kAllValid};
  for (const auto& [name, value] : EpisodeMetrics(inputs, record, {})) reported[name] = value;
  EXPECT_EQ(reported["rewards/std"], 0);
  EXPECT_EQ(reported["advantages/std"], 0);
  EXPECT_FALSE(reported.contains("baselines/mean"));
}

}  // namespace
}  // namespace reprise::rl
