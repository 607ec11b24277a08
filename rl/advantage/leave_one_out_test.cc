#include "rl/advantage/leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST(LeaveOneOutTest, HasTheValuesOfThePublishedExamples) {
  EXPECT_EQ(LeaveOneOutAdvantages({1, 2, 3}, 3, false), (std::vector<double>{-1.5, 0, 1.5}));
  ExpectNear(LeaveOneOutAdvantages({0, 0.5, 1, 0.3, 0.7}, 5, false), {-0.625, 0, 0.625, -0.25, 0.25}, 1e-15);
  ExpectNear(LeaveOneOutAdvantages({1, 0, 0, 1}, 4, false), {2. / 3, -2. / 3, -2. / 3, 2. / 3}, 1e-15);
  EXPECT_EQ(LeaveOneOutAdvantages({1, 3}, 2, false), (std::vector<double>{-2, 2}));
}

TEST(LeaveOneOutTest, NormalizesOverTheBatchWhereRequested) {
  const double d = 1.5 / (1.5 + 1e-4);
  EXPECT_EQ(LeaveOneOutAdvantages({1, 2, 3}, 3, true), (std::vector<double>{-d, 0, d}));
}

TEST(LeaveOneOutTest, GivesExactlyZeroToGroupsOfEqualRewards) {
  for (bool normalize : {false, true}) {
    EXPECT_EQ(LeaveOneOutAdvantages({0.7, 0.7, 0.7, 0.7}, 4, normalize), std::vector<double>(4, 0.0));
    const std::vector<double> mixed = LeaveOneOutAdvantages({0.7, 0.7, 0.7, 0.1, 0.2, 0.4}, 3, normalize);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(mixed[i], 0.0);
    EXPECT_LT(mixed[3], 0.0);
  }
}

TEST(LeaveOneOutTest, GivesZeroWithoutABaselineAndToUnscorableSamples) {
  for (bool normalize : {false, true}) {
    EXPECT_EQ(LeaveOneOutAdvantages({kNan, 5.0, kNan}, 3, normalize), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(LeaveOneOutAdvantages({kNan, 1.0, 3.0}, 3, normalize)[0], 0.0);
  }
  EXPECT_EQ(LeaveOneOutAdvantages({kNan, 1.0, 3.0}, 3, false), (std::vector<double>{0, -2, 2}));
}

TEST(PenalizedRewardsTest, ClipsBeforeItPenalizes) {
  const std::vector<double> penalized = PenalizedRewards({3.0, -3.0, kNan}, {{-1.0, 2.0}}, 0.5, {4.0, -4.0, 1.0});
  EXPECT_EQ(penalized[0], 2.0 - 2.0);
  EXPECT_EQ(penalized[1], -1.0 + 2.0);
  EXPECT_TRUE(std::isnan(penalized[2]));
  EXPECT_EQ(PenalizedRewards({3.0}, {}, 0.0, {}), (std::vector<double>{3.0}));
}

RC_GTEST_PROP(LeaveOneOutTest, AdvantagesSumToZeroWithinEachPrompt, (const std::vector<int>& values)) {
  std::vector<double> rewards;
  for (int value : values) rewards.push_back(value % 23 * 0.3);
  rewards.resize(rewards.size() / 3 * 3);
  const std::vector<double> advantages = LeaveOneOutAdvantages(rewards, 3, false);
  for (size_t p = 0; p < advantages.size(); p += 3) {
    RC_ASSERT(std::fabs(advantages[p] + advantages[p + 1] + advantages[p + 2]) < 1e-12);
    // A_i = n / (n - 1) (R_i - mean).
    const double mean = (rewards[p] + rewards[p + 1] + rewards[p + 2]) / 3;
    RC_ASSERT(std::fabs(advantages[p] - 1.5 * (rewards[p] - mean)) < 1e-12);
  }
}

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

struct Published {
  std::vector<double> rewards, baselines, advantages, normalized;
};

TEST(EpisodeLeaveOneOutTest, HasTheValuesOfThePublishedTable) {
  const double a = 0.866025, b = 0.707107;
  const std::vector<Published> table = {
      {{1, 2, 3}, {2.5, 2, 1.5}, {-1.5, 0, 1.5}, {-1, 0, 1}},
      {{0, 0.5, 1, 0.3, 0.7},
       {0.625, 0.5, 0.375, 0.55, 0.45},
       {-0.625, 0, 0.625, -0.25, 0.25},
       {-1.313064, 0, 1.313064, -0.525226, 0.525226}},
      {{1, 0, 0, 1}, {1. / 3, 2. / 3, 2. / 3, 1. / 3}, {2. / 3, -2. / 3, -2. / 3, 2. / 3}, {a, -a, -a, a}},
      {{1, 3}, {3, 1}, {-2, 2}, {-b, b}},
      {{0.7, 0.7, 0.7}, {0.7, 0.7, 0.7}, {0, 0, 0}, {0, 0, 0}},
  };
  for (const Published& row : table) {
    ASSERT_OK_AND_ASSIGN(const EpisodeAdvantages plain, EpisodeLeaveOneOut(row.rewards));
    ExpectNear(plain.baseline_N, row.baselines, 1e-15);
    ExpectNear(plain.advantage_N, row.advantages, 1e-15);
    ASSERT_OK_AND_ASSIGN(const EpisodeAdvantages normalized, EpisodeLeaveOneOut(row.rewards, {.normalize = true}));
    ExpectNear(normalized.advantage_N, row.normalized, 1e-6);
  }
}

TEST(EpisodeLeaveOneOutTest, RejectsAGroupOfOneEpisode) {
  EXPECT_THAT(EpisodeLeaveOneOut({1.0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("LOO baseline requires N >= 2 episodes, got 1")));
  EXPECT_THAT(EpisodeLeaveOneOut({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 0")));
}

RC_GTEST_PROP(EpisodeLeaveOneOutTest, IsTheCentredRewardTimesNOverNMinusOne, (const std::vector<int>& values)) {
  RC_PRE(values.size() >= 2u);
  std::vector<double> rewards;
  for (int value : values) rewards.push_back(value % 23 * 0.3);
  double mean = 0.0;
  for (double reward : rewards) mean += reward / static_cast<double>(rewards.size());
  const double n = static_cast<double>(rewards.size());
  const EpisodeAdvantages result = *EpisodeLeaveOneOut(rewards);
  for (size_t i = 0; i < rewards.size(); ++i) {
    RC_ASSERT(std::fabs(result.advantage_N[i] - n / (n - 1) * (rewards[i] - mean)) < 1e-12);
  }
  // For one group, both functions agree up to the order of the sum.
  const std::vector<double> same = LeaveOneOutAdvantages(rewards, static_cast<int64_t>(rewards.size()), false);
  for (size_t i = 0; i < same.size(); ++i) RC_ASSERT(std::fabs(result.advantage_N[i] - same[i]) < 1e-12);
}

RC_GTEST_PROP(EpisodeLeaveOneOutTest, APermutationOfTheEpisodesPermutesTheResultBitForBit,
              (const std::vector<int>& values)) {
  RC_PRE(values.size() >= 2u);
  std::vector<double> rewards;
  for (int value : values) rewards.push_back(value % 23 * 0.1);
  std::vector<size_t> order(rewards.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[*rc::gen::inRange<size_t>(0, i + 1)]);
  std::vector<double> permuted;
  for (size_t i : order) permuted.push_back(rewards[i]);
  for (const bool normalize : {false, true}) {
    const EpisodeAdvantages a = *EpisodeLeaveOneOut(rewards, {.normalize = normalize});
    const EpisodeAdvantages b = *EpisodeLeaveOneOut(permuted, {.normalize = normalize});
    for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(b.advantage_N[i] == a.advantage_N[order[i]]);
  }
}

}  // namespace
}  // namespace reprise::rl
