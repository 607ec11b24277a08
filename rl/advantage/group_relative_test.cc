#include "rl/advantage/group_relative.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "rl/advantage/statistics.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Normalization kVerlNormalization = {.epsilon = 1e-6, .ddof = 1, .lone_sample_keeps_reward = true};

TEST(GroupRelativeTest, HasTheClosedFormOfTwoSamples) {
  // Rewards 1 and 0: mean 1/2, deviation 1/sqrt(2).
  const double expected = 0.5 / (std::sqrt(0.5) + 1e-4);
  const std::vector<double> advantages = GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kGroup);
  EXPECT_EQ(advantages, (std::vector<double>{expected, -expected}));
  EXPECT_NEAR(expected, 0.70701, 1e-5);
}

TEST(GroupRelativeTest, GivesExactlyZeroToGroupsOfEqualRewards) {
  for (ScaleRewards scale : {ScaleRewards::kGroup, ScaleRewards::kBatch, ScaleRewards::kNone}) {
    // The mean of seven 0.1f is not 0.1f.
    std::vector<double> rewards(7, static_cast<double>(0.1f));
    rewards.insert(rewards.end(), {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
    const std::vector<double> advantages = GroupRelativeAdvantages(rewards, 7, scale);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(advantages[i], 0.0);
    EXPECT_GT(advantages[13], 0.0);
  }
}

TEST(GroupRelativeTest, ExcludesUnscorableSamples) {
  const std::vector<double> advantages = GroupRelativeAdvantages({kNan, 1.0, 0.0, kNan}, 4, ScaleRewards::kGroup);
  const std::vector<double> pair = GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kGroup);
  EXPECT_EQ(advantages, (std::vector<double>{0.0, pair[0], pair[1], 0.0}));
}

TEST(GroupRelativeTest, GivesZeroToALoneSample) {
  EXPECT_EQ(GroupRelativeAdvantages({3.0, -1.0}, 1, ScaleRewards::kGroup), (std::vector<double>{0.0, 0.0}));
  EXPECT_EQ(GroupRelativeAdvantages({kNan, 2.0}, 2, ScaleRewards::kBatch), (std::vector<double>{0.0, 0.0}));
}

TEST(GroupRelativeTest, AddsTheGivenEpsilonToTheDeviation) {
  const double expected = 0.5 / (std::sqrt(0.5) + 0.25);
  EXPECT_EQ(GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kGroup, {.epsilon = 0.25}),
            (std::vector<double>{expected, -expected}));
  EXPECT_EQ(GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kNone, {.epsilon = 0.25}),
            (std::vector<double>{0.5, -0.5}));
}

TEST(GroupRelativeTest, NormalizesAsVerlWhereRequested) {
  const double expected = 0.5 / (std::sqrt(0.5) + 1e-6);
  EXPECT_EQ(GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kGroup, kVerlNormalization),
            (std::vector<double>{expected, -expected}));
  // A lone sample: mean 0, deviation 1.
  EXPECT_EQ(GroupRelativeAdvantages({3.0, -1.0}, 1, ScaleRewards::kGroup, kVerlNormalization),
            (std::vector<double>{3.0 / (1 + 1e-6), -1.0 / (1 + 1e-6)}));
  EXPECT_EQ(GroupRelativeAdvantages({3.0, -1.0}, 1, ScaleRewards::kNone, kVerlNormalization),
            (std::vector<double>{3.0, -1.0}));
  const double batch = std::sqrt(8.0) + 1e-6;
  EXPECT_EQ(GroupRelativeAdvantages({3.0, -1.0}, 1, ScaleRewards::kBatch, kVerlNormalization),
            (std::vector<double>{3.0 / batch, -1.0 / batch}));
  EXPECT_EQ(GroupRelativeAdvantages({0.1, 0.1}, 2, ScaleRewards::kGroup, kVerlNormalization),
            (std::vector<double>{0.0, 0.0}));
}

// verl's exception is for groups of one sample: the only scorable sample of a larger group has advantage 0.
TEST(GroupRelativeTest, GivesZeroToTheOnlyScorableSampleOfALargerGroup) {
  for (const ScaleRewards scale : {ScaleRewards::kGroup, ScaleRewards::kBatch, ScaleRewards::kNone}) {
    EXPECT_EQ(GroupRelativeAdvantages({kNan, 2.0}, 2, scale, kVerlNormalization), (std::vector<double>{0.0, 0.0}));
    const std::vector<double> beside = GroupRelativeAdvantages({kNan, 2.0, 3.0, 5.0}, 2, scale, kVerlNormalization);
    EXPECT_EQ(beside[1], 0.0);
    EXPECT_GT(beside[3], 0.0);
  }
}

TEST(GroupRelativeTest, OmitsBesselsCorrectionWhereRequested) {
  EXPECT_EQ(GroupRelativeAdvantages({1.0, 0.0}, 2, ScaleRewards::kGroup, {.epsilon = 0.0, .ddof = 0}),
            (std::vector<double>{1.0, -1.0}));
}

TEST(GroupRelativeTest, DividesByTheDeviationOfTheBatchWhereRequested) {
  const std::vector<double> advantages = GroupRelativeAdvantages({0.0, 2.0, 5.0, 5.0}, 2, ScaleRewards::kBatch);
  const double deviation = std::sqrt(18.0 / 3.0);  // mean 3: 9 + 1 + 4 + 4
  EXPECT_EQ(advantages, (std::vector<double>{-1.0 / (deviation + 1e-4), 1.0 / (deviation + 1e-4), 0.0, 0.0}));
}

TEST(ScaleRewardsTest, ReadsItsNamesAndSuggestsTheNearest) {
  for (ScaleRewards scale : {ScaleRewards::kGroup, ScaleRewards::kBatch, ScaleRewards::kNone}) {
    ASSERT_OK_AND_ASSIGN(const ScaleRewards read, ParseScaleRewards(ScaleRewardsName(scale)));
    EXPECT_EQ(read, scale);
  }
  EXPECT_THAT(ParseScaleRewards("groups"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"group\"?")));
}

std::vector<double> Rewards(const std::vector<int>& values) {
  std::vector<double> rewards;
  for (int value : values) rewards.push_back(value % 17 * 0.1);
  rewards.resize(rewards.size() / 4 * 4);
  return rewards;
}

RC_GTEST_PROP(GroupRelativeTest, AdvantagesSumToZeroWithinEachPrompt, (const std::vector<int>& values)) {
  const std::vector<double> rewards = Rewards(values);
  const std::vector<double> advantages = GroupRelativeAdvantages(rewards, 4, ScaleRewards::kGroup);
  for (size_t p = 0; p < advantages.size(); p += 4) {
    RC_ASSERT(std::fabs(advantages[p] + advantages[p + 1] + advantages[p + 2] + advantages[p + 3]) < 1e-10);
  }
}

RC_GTEST_PROP(GroupRelativeTest, PromptsAreIndependent, (const std::vector<int>& values)) {
  std::vector<double> rewards = Rewards(values);
  std::vector<double> advantages = GroupRelativeAdvantages(rewards, 4, ScaleRewards::kGroup);
  if (rewards.empty()) return;
  // Moving the first group to the end moves its advantages, bit for bit.
  std::rotate(rewards.begin(), rewards.begin() + 4, rewards.end());
  std::rotate(advantages.begin(), advantages.begin() + 4, advantages.end());
  RC_ASSERT(GroupRelativeAdvantages(rewards, 4, ScaleRewards::kGroup) == advantages);
}

TEST(ScaledAdvantagesTest, SubtractTheBaselineAndDivideWhereRequested) {
  const std::vector<double> rewards = {1, 3, 0, 6}, baseline = {0.5, 0.5, 2, 2};
  EXPECT_EQ(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kNone, {}), (std::vector<double>{0.5, 2.5, -2, 4}));
  const double first = std::sqrt(2.0) + 0.25, second = std::sqrt(18.0) + 0.25;
  EXPECT_EQ(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kGroup, {.epsilon = 0.25}),
            (std::vector<double>{0.5 / first, 2.5 / first, -2 / second, 4 / second}));
  const double batch = std::sqrt(21.0 / 3) + 0.25;
  EXPECT_EQ(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kBatch, {.epsilon = 0.25}),
            (std::vector<double>{0.5 / batch, 2.5 / batch, -2 / batch, 4 / batch}));
}

TEST(ScaledAdvantagesTest, KeepAnEqualGroupsAdvantageUnlessItsDeviationDivides) {
  const std::vector<double> rewards = {0.7, 0.7, 0.1, 0.3}, baseline(4, 0.0);
  EXPECT_EQ(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kNone, {})[0], 0.7);
  EXPECT_GT(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kBatch, {})[0], 0.0);
  EXPECT_EQ(ScaledAdvantages(rewards, baseline, 2, ScaleRewards::kGroup, {})[0], 0.0);
  EXPECT_EQ(ScaledAdvantages({0.7, 0.7}, {0, 0}, 1, ScaleRewards::kBatch, {}), (std::vector<double>{0, 0}));
}

TEST(ScaledAdvantagesTest, GiveZeroToUnscorableSamples) {
  EXPECT_EQ(ScaledAdvantages({kNan, 2, 3, 4}, {1, kNan, 1, 1}, 2, ScaleRewards::kNone, {}),
            (std::vector<double>{0, 0, 2, 3}));
}

RC_GTEST_PROP(ScaledAdvantagesTest, AgainstTheGroupMeanAreGroupRelative, (const std::vector<int>& values)) {
  std::vector<double> rewards, baseline;
  for (int value : values) rewards.push_back(value % 7 == 3 ? kNan : value % 23 * 0.3);
  rewards.resize(rewards.size() / 3 * 3);
  for (size_t p = 0; p < rewards.size(); p += 3) {
    const absl::Span<const double> group = absl::MakeConstSpan(rewards).subspan(p, 3);
    // Equal rewards: the mean without its rounding.
    double mean = MeanOfScorable(group);
    for (double reward : group) mean = AllScorableEqual(group) && !std::isnan(reward) ? reward : mean;
    baseline.insert(baseline.end(), 3, mean);
  }
  for (ScaleRewards scale : {ScaleRewards::kGroup, ScaleRewards::kBatch, ScaleRewards::kNone}) {
    RC_ASSERT(ScaledAdvantages(rewards, baseline, 3, scale, {}) == GroupRelativeAdvantages(rewards, 3, scale));
  }
}

TEST(LengthWeightedTest, WeighsEveryRewardByItsLength) {
  EXPECT_EQ(LengthWeightedBaseline({1, 0, 0, 2}, {3, 1, 2, 2}, 2), (std::vector<double>{0.75, 0.75, 1, 1}));
  // Equal lengths: the mean.
  EXPECT_EQ(LengthWeightedBaseline({1, 0, 5}, {4, 4, 4}, 3), (std::vector<double>{2, 2, 2}));
}

TEST(LengthWeightedTest, IsExactlyTheRewardOfAGroupOfEqualOnes) {
  const double reward = static_cast<double>(0.1f);
  EXPECT_EQ(LengthWeightedBaseline(std::vector<double>(7, reward), {1, 2, 3, 4, 5, 6, 7}, 7),
            std::vector<double>(7, reward));
}

TEST(LengthWeightedTest, ExcludesUnscorableSamplesAndWeighsEmptyAnswersEqually) {
  EXPECT_EQ(LengthWeightedBaseline({kNan, 1, 0}, {9, 3, 1}, 3), (std::vector<double>{0.75, 0.75, 0.75}));
  EXPECT_EQ(LengthWeightedBaseline({kNan, kNan}, {9, 3}, 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(LengthWeightedBaseline({1, 0}, {0, 0}, 2), (std::vector<double>{0.5, 0.5}));
}

TEST(DynamicSamplingTest, DropsGroupsWithoutASignal) {
  EXPECT_EQ(DynamicSamplingWeights({0.1, 0.1, 0, 1, 1, 1}, 2), (std::vector<double>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(DynamicSamplingWeights(std::vector<double>(7, static_cast<double>(0.1f)), 7), std::vector<double>(7, 0.0));
}

TEST(DynamicSamplingTest, DropsUnscorableSamples) {
  EXPECT_EQ(DynamicSamplingWeights({kNan, 1, 0, kNan, kNan, 1}, 3), (std::vector<double>{0, 1, 1, 0, 0, 0}));
  EXPECT_TRUE(DynamicSamplingWeights({}, 3).empty());
}

}  // namespace

}  // namespace reprise::rl
