#include "rl/advantage/step_group.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Table = std::vector<std::vector<double>>;

// Advantages of one group of episodes whose steps are positions, each with its own reward.
Table Of(const Table& reward_NT, const StepGroupOptions& options = {}) {
  std::vector<ScoredTokens> episode_N;
  for (const std::vector<double>& reward_T : reward_NT) {
    episode_N.push_back({.num_tokens = static_cast<int64_t>(reward_T.size()), .earned_T = reward_T});
  }
  return StepGroupAdvantages(episode_N, static_cast<int64_t>(reward_NT.size()), options);
}

constexpr StepGroupOptions kZScore = {.scale = ScaleRewards::kGroup, .normalization = {.epsilon = 0}};

TEST(StepGroupTest, ComparesEachStepWithTheSameStepOfTheOthersThatHaveIt) {
  EXPECT_EQ(Of({{1, 2}, {3}}), (Table{{-1, 0}, {1}}));
  EXPECT_EQ(Of({{1, 2, 5}, {3, 6}, {5}}), (Table{{-2, -2, 0}, {0, 2}, {2}}));
  EXPECT_EQ(Of({{1, 2, 5}, {3, 6}, {5}}, {.leaves_one_out = true}), (Table{{-3, -4, 0}, {0, 4}, {3}}));
}

TEST(StepGroupTest, DividesByTheUnbiasedDeviationOfTheStep) {
  const Table four = Of({{1}, {0}, {0}, {1}}, kZScore);
  for (size_t n = 0; n < 4; ++n) EXPECT_NEAR(four[n][0], (n == 0 || n == 3 ? 1 : -1) * 0.866025, 5e-7);
  const Table two = Of({{1}, {0.5}}, kZScore);
  EXPECT_NEAR(two[0][0], 0.707107, 5e-7);
  EXPECT_NEAR(two[1][0], -0.707107, 5e-7);
  StepGroupOptions options = kZScore;
  options.normalization.epsilon = 1;
  EXPECT_EQ(Of({{3}, {1}, {2}}, options), (Table{{0.5}, {-0.5}, {0}}));
  options.normalization = {.epsilon = 0, .ddof = 0};
  EXPECT_EQ(Of({{3}, {1}}, options), (Table{{1}, {-1}}));
}

TEST(StepGroupTest, IsExactlyZeroInAStepOfEqualRewardsAndInOneThatASingleEpisodeHas) {
  const Table rewards = {{0.1f, 7, 0.25}, {0.1f, 8}, {0.1f}, {0.1f}, {0.1f}, {0.1f}, {0.1f}};
  StepGroupOptions keeps = kZScore;
  keeps.normalization.lone_sample_keeps_reward = true;  // has no meaning here
  for (const StepGroupOptions& options : {StepGroupOptions{}, kZScore, keeps, {.leaves_one_out = true}}) {
    const Table advantages = Of(rewards, options);
    for (const std::vector<double>& advantage_T : advantages) EXPECT_EQ(advantage_T[0], 0);
    EXPECT_NE(advantages[0][1], 0);
    EXPECT_EQ(advantages[0][2], 0);
  }
  EXPECT_EQ(Of({{5, 6}}, keeps), (Table{{0, 0}}));
}

TEST(StepGroupTest, ComparesDiscountedRewardsToGo) {
  EXPECT_EQ(Of({{1, 2, 4}, {3}}, {.gamma = 0.5}), (Table{{0, 0, 0}, {0}}));  // 3, 4, 4 and 3
  EXPECT_EQ(Of({{1, 2, 4}, {1, 2}}, {.gamma = 0.5}), (Table{{0.5, 1, 0}, {-0.5, -1}}));
  EXPECT_EQ(Of({{1, 2, 4}, {3}}, {.gamma = 1}), (Table{{2, 0, 0}, {-2}}));
}

// Turns of two tokens and one, and an observation before the second.
TEST(StepGroupTest, TokensOfATurnAreOneStepAndObservationsAreNone) {
  const std::vector<int32_t> turn_T = {0, 0, 1, 1, 2}, other_T = {0, 1};
  const std::vector<uint8_t> mask_T = {1, 1, 0, 1, 1};
  const std::vector<double> earned_T = {0, 1, 0, 2, 0}, earned_of_other_T = {3, 4};
  const std::vector<ScoredTokens> episode_N = {
      {.num_tokens = 5, .score = 8, .mask_T = mask_T, .earned_T = earned_T, .turn_T = turn_T},
      {.num_tokens = 2, .earned_T = earned_of_other_T, .turn_T = other_T}};
  EXPECT_EQ(StepGroupAdvantages(episode_N, 2, {}), (Table{{-1, -1, 0, -1, 0}, {1, 1}}));
  // 1 + 0.5 (2 + 0.5 x 8), 2 + 0.5 x 8; 3 + 0.5 x 4, 4.
  EXPECT_EQ(StepGroupAdvantages(episode_N, 2, {.gamma = 0.5}), (Table{{-0.5, -0.5, 0, 1, 0}, {0.5, -1}}));
}

// Every turn costs 0.1, and gamma is 0.9. Four episodes: an answer that is wrong; a look and the right answer, -0.1 +
// 0.9 (1 - 0.1) = 0.71; a look and a wrong answer, -0.1 - 0.09 = -0.19; and one action that is not found, of which no
// token is learned, -0.1. The first is compared with all three others: -0.1 - (0.71 - 0.19 - 0.1) / 3 = -0.24.
TEST(StepGroupTest, ATurnWithoutLearnedTokensIsComparedWith) {
  const std::vector<double> one = {-0.1}, right = {-0.1, 0.9}, wrong = {-0.1, -0.1};
  const std::vector<int32_t> turn = {0}, turns = {0, 1};
  const std::vector<uint8_t> nothing = {0}, first = {1, 0};
  const std::vector<ScoredTokens> episode_N = {{.num_tokens = 1, .earned_T = one, .turn_T = turn},
                                               {.num_tokens = 2, .earned_T = right, .turn_T = turns},
                                               {.num_tokens = 2, .earned_T = wrong, .turn_T = turns},
                                               {.num_tokens = 1, .mask_T = nothing, .earned_T = one, .turn_T = turn}};
  const StepGroupOptions options = {.gamma = 0.9, .leaves_one_out = true};
  const Table advantages = StepGroupAdvantages(episode_N, 4, options);
  EXPECT_NEAR(advantages[0][0], -0.24, 1e-15);
  EXPECT_EQ(advantages[3], std::vector<double>{0});
  // Where the third episode's second action is not found either, it still costs 0.09.
  std::vector<ScoredTokens> not_found = episode_N;
  not_found[2].mask_T = first;
  const Table same = StepGroupAdvantages(not_found, 4, options);
  EXPECT_EQ(same[0], advantages[0]);
  EXPECT_EQ(same[1], advantages[1]);
  EXPECT_EQ(same[2], (std::vector<double>{advantages[2][0], 0}));
  // A score is that of the last turn, whether it is learned or not.
  for (ScoredTokens& episode : not_found) episode.earned_T = {}, episode.score = 1;
  EXPECT_NEAR(StepGroupAdvantages(not_found, 4, options)[2][0], 0.9 - (1 + 0.9 + 1) / 3, 1e-15);
}

TEST(StepGroupTest, AddsTheScoreAtTheLastStepAndSubtractsTheDivergenceAtEach) {
  const std::vector<double> kl_T = {2, -4}, none_T = {0};
  const std::vector<ScoredTokens> episode_N = {{.num_tokens = 2, .score = 3, .kl_T = kl_T},
                                               {.num_tokens = 1, .score = 1, .kl_T = none_T}};
  EXPECT_EQ(StepGroupAdvantages(episode_N, 2, {}), (Table{{-0.5, 0}, {0.5}}));
  EXPECT_EQ(StepGroupAdvantages(episode_N, 2, {.gamma = 1, .beta = 0.5}), (Table{{1.5, 0}, {-1.5}}));
}

TEST(StepGroupTest, LeavesUnscorableEpisodesOutOfTheMeans) {
  const std::vector<double> one = {1, 1}, three = {3}, nine = {9, 9};
  const std::vector<ScoredTokens> episode_N = {{.num_tokens = 2, .earned_T = one},
                                               {.num_tokens = 2, .score = kNan, .earned_T = nine},
                                               {.num_tokens = 1, .earned_T = three},
                                               {.num_tokens = 0}};
  for (const bool leaves_one_out : {false, true}) {
    const double away = leaves_one_out ? 2 : 1;
    EXPECT_EQ(StepGroupAdvantages(episode_N, 4, {.leaves_one_out = leaves_one_out}),
              (Table{{-away, 0}, {0, 0}, {away}, {}}));
  }
}

TEST(StepGroupTest, GroupsAreIndependent) {
  const std::vector<double> a = {1, 2}, b = {3}, c = {100}, d = {0, 7};
  const auto of = [](const std::vector<double>& earned_T) {
    return ScoredTokens{.num_tokens = static_cast<int64_t>(earned_T.size()), .earned_T = earned_T};
  };
  EXPECT_EQ(StepGroupAdvantages({of(a), of(b), of(c), of(d)}, 2, {}), (Table{{-1, 0}, {1}, {50}, {-50, 0}}));
}

// Rewards are multiples of 1/8, whose sums are exact in any order.
Table RandomRewards() {
  Table reward_NT(*rc::gen::inRange<size_t>(1, 7));
  for (std::vector<double>& reward_T : reward_NT) {
    reward_T.resize(*rc::gen::inRange<size_t>(0, 6));
    for (double& reward : reward_T) reward = *rc::gen::inRange(-64, 64) / 8.0;
  }
  return reward_NT;
}

RC_GTEST_PROP(StepGroupTest, AStepsAdvantagesSumToZero, ()) {
  const Table rewards = RandomRewards();
  StepGroupOptions options = {.gamma = *rc::gen::inRange(0, 3) / 2.0};
  for (const int kind : {0, 1, 2}) {
    options.leaves_one_out = kind == 1;
    options.scale = kind == 2 ? ScaleRewards::kGroup : ScaleRewards::kNone;
    std::vector<double> sum_T(6, 0.0);
    for (const std::vector<double>& advantage_T : Of(rewards, options)) {
      for (size_t t = 0; t < advantage_T.size(); ++t) sum_T[t] += advantage_T[t];
    }
    for (const double sum : sum_T) RC_ASSERT(std::fabs(sum) < 1e-10);
  }
}

RC_GTEST_PROP(StepGroupTest, WhatIsLearnedOfATurnDoesNotChangeTheAdvantagesOfOthers, ()) {
  const Table rewards = RandomRewards();
  std::vector<std::vector<int32_t>> turn_NT;
  std::vector<std::vector<uint8_t>> mask_NT;
  for (const std::vector<double>& reward_T : rewards) {
    std::vector<int32_t>& turn_T = turn_NT.emplace_back(reward_T.size());
    std::iota(turn_T.begin(), turn_T.end(), 0);
    for (uint8_t& is_learned : mask_NT.emplace_back(reward_T.size())) is_learned = *rc::gen::inRange(0, 2) == 1;
  }
  std::vector<ScoredTokens> all_N, part_N;
  for (size_t n = 0; n < rewards.size(); ++n) {
    const int64_t tokens = static_cast<int64_t>(rewards[n].size());
    all_N.push_back({.num_tokens = tokens, .score = 3, .earned_T = rewards[n], .turn_T = turn_NT[n]});
    part_N.push_back(all_N.back());
    part_N.back().mask_T = mask_NT[n];
  }
  for (const StepGroupOptions& options : {StepGroupOptions{.gamma = 0.5}, {.gamma = 1, .leaves_one_out = true}}) {
    Table expected = StepGroupAdvantages(all_N, static_cast<int64_t>(rewards.size()), options);
    for (size_t n = 0; n < rewards.size(); ++n) {
      for (size_t t = 0; t < mask_NT[n].size(); ++t) expected[n][t] = mask_NT[n][t] != 0 ? expected[n][t] : 0;
    }
    RC_ASSERT(StepGroupAdvantages(part_N, static_cast<int64_t>(rewards.size()), options) == expected);
  }
}

RC_GTEST_PROP(StepGroupTest, LeavingOneOutScalesByTheNumberOfEpisodesThatHaveTheStep, ()) {
  const Table rewards = RandomRewards();
  const Table centred = Of(rewards), others = Of(rewards, {.leaves_one_out = true});
  for (size_t n = 0; n < rewards.size(); ++n) {
    for (size_t t = 0; t < rewards[n].size(); ++t) {
      const double have = static_cast<double>(
          std::count_if(rewards.begin(), rewards.end(), [t](const auto& reward_T) { return reward_T.size() > t; }));
      RC_ASSERT(std::fabs((have - 1) * others[n][t] - have * centred[n][t]) < 1e-10);
    }
  }
}

RC_GTEST_PROP(StepGroupTest, TheOrderOfTheEpisodesDoesNotMatter, ()) {
  const Table rewards = RandomRewards();
  std::vector<size_t> order(rewards.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t last = order.size(); last-- > 1;) std::swap(order[last], order[*rc::gen::inRange<size_t>(0, last + 1)]);
  Table moved;
  for (const size_t n : order) moved.push_back(rewards[n]);
  for (const StepGroupOptions& options : {StepGroupOptions{}, {.leaves_one_out = true}, {.gamma = 1}, kZScore}) {
    const Table before = Of(rewards, options), after = Of(moved, options);
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t t = 0; t < after[i].size(); ++t) {
        const double difference = std::fabs(after[i][t] - before[order[i]][t]);
        RC_ASSERT(difference <= (options.scale == ScaleRewards::kNone ? 0 : 1e-14));
      }
    }
  }
}

}  // namespace
}  // namespace reprise::rl
