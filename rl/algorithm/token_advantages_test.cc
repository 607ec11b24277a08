#include "rl/algorithm/token_advantages.h"

#include <vector>

#include "gtest/gtest.h"
#include "rl/advantage/reinforce_plus_plus.h"
#include "rl/advantage/step_group.h"
#include "rl/value/ppo_targets.h"

namespace reprise::rl {
namespace {

const std::vector<double> kRewards = {1, 3};
const std::vector<double> kWeights = {1};
const std::vector<double> kValue0 = {0.5, 0.25, 0.125}, kValue1 = {0.0};
const std::vector<double> kKl0 = {0.5, 0.0, -0.25}, kKl1 = {1.0};
const std::vector<uint8_t> kMask0 = {1, 0, 1};

TokenAdvantages Of(const AdvantageOptions& options) {
  return AdvantagesByToken({.table = {kRewards, kWeights, 2}}, {{3, kMask0, kKl0, kValue0}, {1, {}, kKl1, kValue1}},
                           options);
}

TEST(TokenAdvantagesTest, AreSharedByAllTokensOfAnEpisode) {
  const TokenAdvantages shared = Of({.scale_rewards = ScaleRewards::kNone});
  EXPECT_EQ(shared.advantage_NT, (std::vector<std::vector<double>>{{-1, 0, -1}, {1}}));
  EXPECT_TRUE(shared.return_NT.empty());
}

TEST(TokenAdvantagesTest, AreThoseOfAValueFunction) {
  const TokenAdvantages valued =
      Of({.baseline = Baseline::kValue, .reward_beta = 0.5, .whiten_tokens = true, .gamma = 0.9, .lambda = 0.8});
  const PpoTargets expected =
      MakePpoTargets({{1, kValue0, kKl0, kMask0}, {3, kValue1, kKl1, {}}}, {{0.9, 0.8}, 0.5, true});
  EXPECT_EQ(valued.advantage_NT, expected.advantage_NT);
  EXPECT_EQ(valued.return_NT, expected.return_NT);
}

TEST(TokenAdvantagesTest, AreThoseOfReinforcePlusPlus) {
  const std::vector<ScoredTokens> scored = {{3, 1, kKl0, kMask0}, {1, 3, kKl1, {}}};
  EXPECT_EQ(Of({.baseline = Baseline::kNone, .reward_beta = 0.5, .whiten_tokens = true, .gamma = 0.9}).advantage_NT,
            ReinforcePlusPlusAdvantages(scored, {0.9, 0.5}));
  EXPECT_EQ(Of({.whiten_tokens = true}).advantage_NT, ReinforcePlusPlusBaselineAdvantages(scored, 2));
}

// Turns 0, -, 1 with the divergence of kKl0, against a single turn.
TEST(TokenAdvantagesTest, AreThoseOfStepsAgainstTheSameStepOfOthers) {
  const std::vector<int32_t> turn0 = {0, 1, 1}, turn1 = {1};
  const std::vector<ScoredTokens> scored = {{3, 1, kKl0, kMask0, {}, true, turn0}, {1, 3, kKl1, {}, {}, true, turn1}};
  const auto of = [&](const AdvantageOptions& options) {
    return AdvantagesByToken({.table = {kRewards, kWeights, 2}},
                             {{.num_tokens = 3, .mask_T = kMask0, .kl_T = kKl0, .turn_T = turn0},
                              {.num_tokens = 1, .kl_T = kKl1, .turn_T = turn1}},
                             options);
  };
  const TokenAdvantages centred =
      of({.baseline = Baseline::kStepGroupMean, .scale_rewards = ScaleRewards::kNone, .gamma = 0});
  EXPECT_EQ(centred.advantage_NT, (std::vector<std::vector<double>>{{0, 0, -1}, {1}}));
  EXPECT_TRUE(centred.return_NT.empty());
  EXPECT_EQ(
      of({.baseline = Baseline::kStepGroupMean, .advantage_epsilon = 0.5, .ddof = 0, .reward_beta = 0.5, .gamma = 0.9})
          .advantage_NT,
      StepGroupAdvantages(
          scored, 2,
          {.gamma = 0.9, .beta = 0.5, .scale = ScaleRewards::kGroup, .normalization = {.epsilon = 0.5, .ddof = 0}}));
  // Leave-one-out is not divided: scale_rewards does not apply.
  EXPECT_EQ(of({.baseline = Baseline::kStepLeaveOneOut, .gamma = 0}).advantage_NT,
            (std::vector<std::vector<double>>{{0, 0, -2}, {2}}));
}

// A step's own reward, as it is: a clamped reward must not be centred again.
TEST(TokenAdvantagesTest, AreTheRewardsOfStepsWhereTheseAreComparedWithNothing) {
  const std::vector<int32_t> turn_T = {0, 0, 1};
  const std::vector<double> earned_T = {0, 0.5, 0.25}, zero_N = {0, 0};
  const EpisodeTokens episode = {.num_tokens = 3, .earned_T = earned_T, .turn_T = turn_T};
  const auto of = [&](double gamma) {
    return AdvantagesByToken({.table = {zero_N, kWeights, 2}}, {episode, episode},
                             {.baseline = Baseline::kStepNone, .gamma = gamma})
        .advantage_NT;
  };
  const std::vector<double> own = {0.5, 0.5, 0.25}, discounted = {0.625, 0.625, 0.25};
  EXPECT_EQ(of(0), (std::vector<std::vector<double>>{own, own}));
  EXPECT_EQ(of(0.5), (std::vector<std::vector<double>>{discounted, discounted}));
}

TEST(TokenAdvantagesTest, TurnsCanHaveTheValues) {
  const std::vector<int32_t> turn_T = {0, 0, 1};
  const std::vector<double> earned_T = {0, 1, 4}, value_T = {1, 9, 2}, zero_N = {0};
  const EpisodeTokens episode = {.num_tokens = 3, .value_T = value_T, .earned_T = earned_T, .turn_T = turn_T};
  AdvantageOptions options = {.baseline = Baseline::kValue, .gamma = 0.5, .lambda = 1, .value_of_turns = true};
  EXPECT_EQ(AdvantagesByToken({.table = {zero_N, kWeights, 1}}, {episode}, options).return_NT,
            (std::vector<std::vector<double>>{{3, 3, 4}}));
  options.value_of_turns = false;
  EXPECT_EQ(AdvantagesByToken({.table = {zero_N, kWeights, 1}}, {episode}, options).return_NT,
            (std::vector<std::vector<double>>{{1.5, 3, 4}}));
}

TEST(TokenAdvantagesTest, ClipTheScoreBeforeAnythingElse) {
  const AdvantageOptions options = {
      .baseline = Baseline::kValue, .reward_clip_range = {{0, 2}}, .gamma = 1.0, .lambda = 1.0};
  EXPECT_EQ(Of(options).return_NT, (std::vector<std::vector<double>>{{1, 0, 1}, {2}}));
}

}  // namespace
}  // namespace reprise::rl
