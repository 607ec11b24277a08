// Tests whether an algorithm's expected gradient is the policy gradient, by enumerating every group of episodes.

#include <cmath>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/testing/bandit.h"

namespace reprise::rl {
namespace {

using testing::Distance;
using testing::Game;
using testing::Moments;
using testing::PathDivergenceGradient;
using testing::PolicyGradient;
using testing::RandomGame;
using testing::RandomPolicy;
using testing::RowMoments;
using testing::Scaled;
using testing::Setting;
using testing::Table;

constexpr double kExact = 1e-12;
constexpr int64_t kGroup = 3;

AlgorithmConfig Row(absl::string_view name) {
  AlgorithmConfig row = *FindAlgorithm(name);
  SetBeta(0.0, &row);
  return row;
}

// Episodes of one and of two actions, so that lengths differ too.
Setting Unequal(uint64_t seed) {
  Setting setting = {.game = RandomGame(seed, /*depth=*/2, /*zero_stops=*/true, -1.0, 2.0)};
  setting.policy = RandomPolicy(seed, setting.game);
  setting.running_mean = 0.37;
  return setting;
}

// Episodes of two actions each.
Setting Equal(uint64_t seed) {
  Setting setting = {.game = RandomGame(seed, /*depth=*/2, /*zero_stops=*/false, -1.0, 2.0)};
  setting.policy = RandomPolicy(seed, setting.game);
  return setting;
}

// The row's expectation is `factor` times the policy gradient.
void ExpectProportional(const AlgorithmConfig& row, const Setting& setting, double factor, double tolerance = kExact) {
  const Table expected = Scaled(PolicyGradient(setting.game, setting.policy), factor);
  EXPECT_LT(Distance(RowMoments(row, setting, kGroup).mean, expected), tolerance) << row.name;
  EXPECT_GT(testing::Norm(expected), 1e-2);
}

TEST(UnbiasedTest, RowsOfThePlainPolicyGradientAreUnbiased) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (absl::string_view name : {"reinforce", "remax", "rloo", "episode_rloo"}) {
      ExpectProportional(Row(name), Unequal(seed), 1.0);
      ExpectProportional(Row(name), Equal(seed), 1.0);
    }
  }
}

TEST(UnbiasedTest, ABaselineFromEarlierBatchesLeavesTheGradientUnbiased) {
  AlgorithmConfig row = Row("reinforce");
  row.advantage.baseline = Baseline::kRunningMean;
  for (uint64_t seed = 0; seed < 4; ++seed) ExpectProportional(row, Unequal(seed), 1.0);
}

TEST(UnbiasedTest, TheMeanOfItsOwnGroupScalesTheGradient) {
  // Dr. GRPO: centred is (G - 1) / G leave-one-out; its constant divisor is the depth.
  const double share = (kGroup - 1.0) / kGroup;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ExpectProportional(Row("dr_grpo"), Unequal(seed), share / 2);
    // The length-weighted mean of equal lengths is the mean.
    ExpectProportional(Row("opo"), Equal(seed), share);
    // Without the deviation, GRPO's means over tokens of equal lengths as well.
    for (absl::string_view name : {"grpo", "bnpo", "dapo", "gspo", "cispo", "sapo", "vespo", "gmpo"}) {
      AlgorithmConfig row = Row(name);
      row.advantage.scale_rewards = ScaleRewards::kNone;
      ExpectProportional(row, Equal(seed), share / 2);
    }
  }
}

TEST(UnbiasedTest, ARegressionFromThePolicyItselfIsThePolicyGradientForEveryOptimalValue) {
  AlgorithmConfig row = Row("a2po");
  row.loss.regression_beta = 0.5;  // 2 beta2 = 1
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = Unequal(seed);
    setting.optimal_value = 0.37;
    ExpectProportional(row, setting, 1.0);
  }
}

// The best policy near the reference is reference(y) exp(R(y) / beta) / Z, whose optimal value is beta log Z.
TEST(UnbiasedTest, ARegressionHasNoGradientAtTheBestPolicyNearTheReference) {
  constexpr double kBeta = 0.8;
  AlgorithmConfig row = Row("a2po");
  row.loss.regression_beta = kBeta;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = {.game = RandomGame(seed, /*depth=*/1, /*zero_stops=*/false, -1.0, 2.0)};
    setting.reference = RandomPolicy(seed + 100, setting.game);
    setting.policy = setting.reference;
    double normalizer = 0.0;
    const std::vector<testing::Path> paths = testing::Paths(setting.game);
    for (size_t a = 0; a < paths.size(); ++a) {
      setting.policy[a] += paths[a].reward / kBeta;
      normalizer += testing::Probability(setting.game, setting.reference, paths[a]) * std::exp(paths[a].reward / kBeta);
    }
    setting.optimal_value = kBeta * std::log(normalizer);
    const Moments best = RowMoments(row, setting, kGroup);
    EXPECT_LT(testing::Norm(best.mean), kExact);
    EXPECT_LT(best.variance, kExact);  // not only on average
    setting.policy = setting.reference;
    EXPECT_GT(testing::Norm(RowMoments(row, setting, kGroup).mean), 1e-3);
  }
}

TEST(UnbiasedTest, AValueFunctionOfAnyKindIsABaselineWithLambdaOne) {
  AlgorithmConfig ppo = Row("ppo");
  ppo.advantage.whiten_tokens = false;
  ppo.loss.aggregation = Aggregation::kLuspo;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = Unequal(seed);
    setting.value_S = {0.4, 7.0, -0.3, 1.1};  // deliberately wrong
    ppo.advantage.lambda = 1.0;
    ExpectProportional(ppo, setting, 1.0);
    // The true value function is unbiased with any lambda.
    setting.value_S = testing::TrueValues(setting.game, setting.policy);
    for (double lambda : {0.0, 0.5, 0.95}) {
      ppo.advantage.lambda = lambda;
      ExpectProportional(ppo, setting, 1.0);
    }
    // A wrong one with another lambda is biased, which shows that this test can fail.
    setting.value_S[2] += 1.0;
    const Table mean = RowMoments(ppo, setting, kGroup).mean;
    EXPECT_GT(Distance(mean, PolicyGradient(setting.game, setting.policy)), 1e-3);
  }
}

// Of episodes of equal lengths: otherwise a step that a single episode has is not learned. gamma 1: credit for what
// follows.
TEST(UnbiasedTest, ComparingStepsOfTheOthersIsUnbiased) {
  AlgorithmConfig row = Row("episode_rloo");
  row.advantage.baseline = Baseline::kStepLeaveOneOut;
  AlgorithmConfig mean = Row("agemem");
  mean.advantage.gamma = 1.0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    ExpectProportional(row, Equal(seed), 1.0);
    ExpectProportional(mean, Equal(seed), (kGroup - 1.0) / kGroup / 2);
    // The first of two actions does not receive the reward of the second.
    row.advantage.gamma = 0.0;
    EXPECT_GT(Distance(RowMoments(row, Equal(seed), kGroup).mean, PolicyGradient(Equal(seed).game, Equal(seed).policy)),
              1e-3);
    row.advantage.gamma = 1.0;
  }
}

TEST(UnbiasedTest, DivisionByADeviationOrByLengthsIsBiased) {
  // In contrast to the rows above, no factor makes these the policy gradient.
  const auto residue = [](const AlgorithmConfig& row, const Setting& setting) {
    const Table truth = PolicyGradient(setting.game, setting.policy), mean = RowMoments(row, setting, kGroup).mean;
    const double factor = testing::Dot(mean, truth) / testing::Dot(truth, truth);
    return Distance(mean, Scaled(truth, factor)) / testing::Norm(mean);
  };
  EXPECT_GT(residue(Row("grpo"), Equal(1)), 1e-3);   // the group's deviation
  EXPECT_GT(residue(Row("opo"), Unequal(1)), 1e-3);  // a length-weighted mean of its own sample
  AlgorithmConfig by_length = Row("dr_grpo");
  by_length.loss.aggregation = Aggregation::kGrpo;
  EXPECT_GT(residue(by_length, Unequal(1)), 1e-3);  // every completion by its own length
  EXPECT_LT(residue(Row("dr_grpo"), Unequal(1)), kExact);
}

TEST(UnbiasedTest, ADivergenceInTheRewardMakesTheGradientThatOfThePenalizedReward) {
  constexpr double kBeta = 0.3;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = Unequal(seed);
    setting.reference = RandomPolicy(seed + 100, setting.game);
    Table expected = PolicyGradient(setting.game, setting.policy);
    const Table divergence = PathDivergenceGradient(setting.game, setting.policy, setting.reference);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] -= kBeta * divergence[i];
    AlgorithmConfig ppo = Row("ppo");  // token by token
    ppo.advantage.whiten_tokens = false;
    ppo.advantage.lambda = 1.0;
    ppo.loss.aggregation = Aggregation::kLuspo;
    AlgorithmConfig reinforce = Row("reinforce");
    reinforce.kl_in_reward = true;
    for (AlgorithmConfig row : {Row("rloo"), reinforce, ppo}) {  // the others by the sum of a sequence
      SetBeta(kBeta, &row);
      EXPECT_LT(Distance(RowMoments(row, setting, kGroup).mean, expected), kExact) << row.name;
    }
  }
}

TEST(UnbiasedTest, TheRatioOfWholeSequencesCorrectsForAnotherSampler) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = Unequal(seed);
    setting.sampler = RandomPolicy(seed + 200, setting.game);
    AlgorithmConfig rloo = Row("rloo");
    rloo.loss.clip = Clip::kNone;
    ExpectProportional(rloo, setting, 1.0);
    // Token ratios do not correct for it, and neither does a clip.
    AlgorithmConfig by_token = Row("episode_rloo");
    by_token.loss.clip = Clip::kNone;
    for (const AlgorithmConfig& row : {by_token, Row("rloo")}) {
      EXPECT_GT(Distance(RowMoments(row, setting, kGroup).mean, PolicyGradient(setting.game, setting.policy)), 1e-4);
    }
  }
}

TEST(UnbiasedTest, ForOneActionTheTokenRatioCorrectsToo) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Setting setting = {.game = RandomGame(seed, /*depth=*/1, /*zero_stops=*/false, -1.0, 2.0)};
    setting.policy = RandomPolicy(seed, setting.game);
    setting.sampler = RandomPolicy(seed + 200, setting.game);
    AlgorithmConfig row = Row("episode_rloo");
    row.loss.clip = Clip::kNone;
    ExpectProportional(row, setting, 1.0);
  }
}

}  // namespace
}  // namespace reprise::rl
