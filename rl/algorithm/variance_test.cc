// Computes the variance of an algorithm's gradient by enumerating every group of episodes, asserts the order that
// theory predicts, and prints a table of all rows.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/testing/bandit.h"

namespace reprise::rl {
namespace {

using testing::Distance;
using testing::Dot;
using testing::Game;
using testing::Moments;
using testing::Norm;
using testing::Path;
using testing::RandomGame;
using testing::RandomPolicy;
using testing::RowGradient;
using testing::RowMoments;
using testing::Scaled;
using testing::Setting;
using testing::Table;

constexpr double kExact = 1e-12;

AlgorithmConfig Row(absl::string_view name) {
  AlgorithmConfig row = *FindAlgorithm(name);
  SetBeta(0.0, &row);
  return row;
}

Setting RandomSetting(uint64_t seed, double low = 0.0, double high = 1.0) {
  Setting setting = {.game = RandomGame(seed, /*depth=*/2, /*zero_stops=*/true, low, high)};
  setting.policy = RandomPolicy(seed, setting.game);
  setting.value_S = testing::TrueValues(setting.game, setting.policy);
  return setting;
}

double ComputeVariance(absl::string_view name, const Setting& setting, int64_t group_size) {
  return RowMoments(Row(name), setting, group_size).variance;
}

TEST(VarianceTest, OfIndependentEpisodesIsInverselyProportionalToTheirNumber) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Setting setting = RandomSetting(seed);
    for (absl::string_view name : {"reinforce", "remax"}) {
      const double alone = ComputeVariance(name, setting, 1);
      for (int64_t g : {2, 3}) EXPECT_NEAR(ComputeVariance(name, setting, g), alone / static_cast<double>(g), kExact);
    }
  }
}

TEST(VarianceTest, OfAConstantBaselineIsAParabolaAroundTheBestOne) {
  // b* = E |S|^2 R / E |S|^2, variance(b) = variance(b*) + (b - b*)^2 E |S|^2 / G, S: an episode's score.
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = RandomSetting(seed, -1.0, 2.0);
    double squares = 0.0, weighted = 0.0;
    for (const Path& path : Paths(setting.game)) {
      Table score(setting.policy.size(), 0.0);
      for (size_t t = 0; t < path.action_T.size(); ++t) AddScore(setting.game, setting.policy, path, t, 1.0, &score);
      const double probability = Probability(setting.game, setting.policy, path);
      squares += probability * Dot(score, score);
      weighted += probability * Dot(score, score) * path.reward;
    }
    const double best = weighted / squares;
    AlgorithmConfig row = Row("reinforce");
    row.advantage.baseline = Baseline::kRunningMean;
    const auto variance = [&](double baseline) {
      setting.running_mean = baseline;
      return RowMoments(row, setting, 2).variance;
    };
    for (double away : {-2.0, -0.1, 0.3, 1.5}) {
      EXPECT_NEAR(variance(best + away), variance(best) + away * away * squares / 2, 10 * kExact);
    }
  }
}

TEST(VarianceTest, OfAGroupBaselineDoesNotDependOnAShiftOfTheRewards) {
  const Setting setting = RandomSetting(5);
  Setting shifted = setting;
  for (double& reward : shifted.game.reward) reward += 10.0;
  for (absl::string_view name : {"rloo", "episode_rloo", "dr_grpo", "opo", "grpo"}) {
    for (size_t a = 0; a < setting.game.reward.size(); ++a) {
      const std::vector<size_t> group = {a, 3, 0};
      EXPECT_LT(Distance(RowGradient(Row(name), setting, group), RowGradient(Row(name), shifted, group)), 1e-11)
          << name;
    }
  }
  // Without a baseline the shift changes the variance.
  EXPECT_GT(ComputeVariance("reinforce", shifted, 3), 20 * ComputeVariance("reinforce", setting, 3));
  EXPECT_GT(ComputeVariance("reinforce", shifted, 3), 20 * ComputeVariance("rloo", shifted, 3));
}

TEST(VarianceTest, OfTheGroupMeanIsThatOfLeaveOneOutScaled) {
  // (G - 1) / G, and the depth that Dr. GRPO divides by.
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Setting setting = RandomSetting(seed);
    for (int64_t g : {2, 3}) {
      const double factor = (static_cast<double>(g) - 1) / static_cast<double>(g) / 2;
      EXPECT_NEAR(ComputeVariance("dr_grpo", setting, g), factor * factor * ComputeVariance("episode_rloo", setting, g),
                  kExact);
      EXPECT_NEAR(ComputeVariance("rloo", setting, g), ComputeVariance("episode_rloo", setting, g), kExact);
    }
  }
}

TEST(VarianceTest, OfLeaveOneOutFallsFasterThanTheNumberOfEpisodes) {
  // More episodes, and a better baseline for each.
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Setting setting = RandomSetting(seed);
    const double two = ComputeVariance("episode_rloo", setting, 2), three = ComputeVariance("episode_rloo", setting, 3);
    const double four = ComputeVariance("episode_rloo", setting, 4);
    EXPECT_LT(three, two * 2 / 3);
    EXPECT_LT(four, three * 3 / 4);
  }
}

TEST(VarianceTest, WithTheTrueValuesIsLeastForLambdaZero) {
  // The temporal-difference error is the advantage without the randomness of later steps (Rao-Blackwell).
  AlgorithmConfig ppo = Row("ppo");
  ppo.advantage.whiten_tokens = false;
  ppo.loss.aggregation = Aggregation::kLuspo;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Setting setting = RandomSetting(seed);
    const auto variance = [&](double lambda) {
      ppo.advantage.lambda = lambda;
      return RowMoments(ppo, setting, 2).variance;
    };
    EXPECT_LT(variance(0.0), variance(0.5));
    EXPECT_LT(variance(0.5), variance(1.0));
  }
}

TEST(VarianceTest, TableOfAllRows) {
  // Rewards between 0 and 1, groups of three, one group per batch: rows that divide by the batch's deviation divide by
  // a small number.
  const Setting setting = RandomSetting(11, 0.0, 1.0);
  const Table truth = testing::PolicyGradient(setting.game, setting.policy);
  std::printf("%-30s %10s %10s %10s\n", "row", "scale", "bias", "variance");
  for (absl::string_view name : AlgorithmNames()) {
    const Moments moments = RowMoments(Row(name), setting, 3);
    // The component along the policy gradient, the one orthogonal to it, and the variance; the latter two in units of
    // the first.
    const double scale = Dot(moments.mean, truth) / Dot(truth, truth);
    Table across = moments.mean;
    for (size_t i = 0; i < across.size(); ++i) across[i] -= scale * truth[i];
    const double along = scale * Norm(truth);
    std::printf("%-30s %10.4f %10.4f %10.4f\n", std::string(name).c_str(), scale, Norm(across) / along,
                moments.variance / (along * along));
    EXPECT_GT(scale, 0.0) << name;  // every row increases the reward
    EXPECT_TRUE(std::isfinite(moments.variance));
  }
}

}  // namespace
}  // namespace reprise::rl
