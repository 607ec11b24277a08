#include "rl/advantage/advantages.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/advantage/optimal_value.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Normalization kVerlNormalization = {.epsilon = 1e-6, .ddof = 1, .lone_sample_keeps_reward = true};

const std::vector<double> kRewards = {1, 3, 0, 6};
const std::vector<double> kWeights = {1};

std::vector<double> Against(Baseline baseline, AdvantageInputs inputs = {}) {
  inputs.table = {kRewards, kWeights, 2};
  return Advantages(inputs, {.baseline = baseline, .scale_rewards = ScaleRewards::kNone});
}

TEST(AdvantagesTest, CompareRewardsWithTheirBaseline) {
  EXPECT_EQ(Against(Baseline::kNone), kRewards);
  EXPECT_EQ(Against(Baseline::kGroupMean), (std::vector<double>{-1, 1, -3, 3}));
  EXPECT_EQ(Against(Baseline::kLeaveOneOut), (std::vector<double>{-2, 2, -6, 6}));
  EXPECT_EQ(Against(Baseline::kRunningMean, {.running_mean = 0.5}), (std::vector<double>{0.5, 2.5, -0.5, 5.5}));
  const std::vector<double> greedy_P = {2, 5};
  EXPECT_EQ(Against(Baseline::kGreedy, {.prompt_baseline_P = greedy_P}), (std::vector<double>{-1, 1, -5, 1}));
  EXPECT_EQ(Against(Baseline::kOptimal, {.prompt_baseline_P = greedy_P}), (std::vector<double>{-1, 1, -5, 1}));
  const std::vector<int64_t> length_N = {3, 1, 2, 1};
  EXPECT_EQ(Against(Baseline::kLengthWeighted, {.length_N = length_N}), (std::vector<double>{-0.5, 1.5, -2, 4}));
}

// With every baseline, a clip has the same effect as rewards that were within the range from the start.
TEST(AdvantagesTest, ClipRewardsAndTheirBaselinesAlike) {
  const std::vector<double> greedy_P = {2, -5}, within_P = {0.25, -0.25}, within = {0.25, 0.25, 0, -0.25};
  const std::vector<double> rewards = {1, 3, 0, -6};
  const std::vector<int64_t> length_N = {3, 1, 2, 1};
  for (const Baseline baseline : {Baseline::kGroupMean, Baseline::kLeaveOneOut, Baseline::kNone, Baseline::kRunningMean,
                                  Baseline::kGreedy, Baseline::kLengthWeighted}) {
    AdvantageOptions options = {.baseline = baseline, .scale_rewards = ScaleRewards::kNone};
    AdvantageInputs inputs = {
        .table = {within, kWeights, 2}, .length_N = length_N, .prompt_baseline_P = within_P, .running_mean = 0.125};
    const std::vector<double> expected = Advantages(inputs, options);
    options.reward_clip_range = {-0.25, 0.25};
    inputs.table = {rewards, kWeights, 2};
    inputs.prompt_baseline_P = greedy_P;
    EXPECT_EQ(Advantages(inputs, options), expected) << BaselineName(baseline);
  }
}

// The rewards of the published table's second row, over groups of one and of five.
TEST(AdvantagesTest, OverTheBatchAreThoseOfOneGroup) {
  const std::vector<double> rewards = {0, 0.5, kNan, 1, 0.3, 0.7};
  const std::vector<double> advantages = {-0.625, 0, 0, 0.625, -0.25, 0.25};
  const std::vector<double> normalized = {-1.313064, 0, 0, 1.313064, -0.525226, 0.525226};
  for (const int64_t num_generations : {1, 2, 6}) {
    AdvantageOptions options = {.baseline = Baseline::kLeaveOneOut, .advantage_epsilon = 1e-8};
    options.baseline_over_batch = true;
    const std::vector<double> plain = Advantages({.table = {rewards, kWeights, num_generations}}, options);
    options.normalize_advantages = true;
    const std::vector<double> scores = Advantages({.table = {rewards, kWeights, num_generations}}, options);
    for (size_t n = 0; n < rewards.size(); ++n) {
      EXPECT_NEAR(plain[n], advantages[n], 1e-15);
      EXPECT_NEAR(scores[n], normalized[n], 1e-6);
    }
  }
}

TEST(AdvantagesTest, OverTheBatchALoneSampleHasAdvantageZero) {
  AdvantageOptions options = {.baseline = Baseline::kLeaveOneOut};
  options.baseline_over_batch = true;
  const std::vector<double> rewards = {kNan, 4};
  EXPECT_EQ(Advantages({.table = {rewards, kWeights, 1}}, options), (std::vector<double>{0, 0}));
}

TEST(AdvantagesTest, AreZeroAgainstAGreedyCompletionThatCouldNotBeScored) {
  const std::vector<double> greedy_P = {kNan, 5};
  EXPECT_EQ(Against(Baseline::kGreedy, {.prompt_baseline_P = greedy_P}), (std::vector<double>{0, 0, -5, 1}));
}

// beta1 log((1 + 3 exp(1 / beta1)) / 4) of rewards 0, 1, 1, 1 at beta1 0.5: 0.5 log((1 + 3 e^2) / 4).
TEST(OptimalValueTest, IsTheTemperedMeanOfTheReferenceModelsRewards) {
  const double e2 = 7.38905609893065;
  EXPECT_NEAR(OptimalValue({0, 1, 1, 1}, {.beta1 = 0.5}), 0.5 * std::log((1 + 3 * e2) / 4), 1e-15);
  EXPECT_NEAR(OptimalValue({0, 1, 1, 1}, {.beta1 = 1e6}), 0.75, 1e-6);  // their mean
  EXPECT_NEAR(OptimalValue({0, 1, 1, 1}, {.beta1 = 1e-3}), 1.0, 1e-3);  // the greatest
  EXPECT_NEAR(OptimalValue({1e6, 1e6 + 1}, {.beta1 = 1e-4}), 1e6 + 1 + 1e-4 * std::log(0.5), 1e-9);
  EXPECT_EQ(OptimalValue({-2, -2, -2}, {}), -2);
}

TEST(OptimalValueTest, SkipsUnscorableRewardsAndPromptsWithoutASignal) {
  EXPECT_EQ(OptimalValue({kNan, 0.5}, {}), 0.5);
  EXPECT_TRUE(std::isnan(OptimalValue({kNan, kNan}, {})));
  EXPECT_TRUE(std::isnan(OptimalValue({kNan, kNan}, {.filter_all_incorrect = false})));
  EXPECT_TRUE(std::isnan(OptimalValue({0, 0}, {})));
  EXPECT_EQ(OptimalValue({0, 0}, {.filter_all_incorrect = false}), 0);
}

TEST(AdvantagesTest, SubtractTheDivergenceFromTheRewardWithAnyBaseline) {
  const std::vector<double> kl_N = {1, -1, 2, 0};
  for (Baseline baseline : {Baseline::kNone, Baseline::kGroupMean, Baseline::kLeaveOneOut}) {
    const AdvantageOptions options = {
        .baseline = baseline, .scale_rewards = ScaleRewards::kNone, .reward_beta = 0.5, .reward_clip_range = {{0, 4}}};
    const std::vector<double> penalized = {0.5, 3.5, -1, 4};
    EXPECT_EQ(Advantages({kRewards, kWeights, 2}, options, kl_N),
              Advantages({penalized, kWeights, 2}, {.baseline = baseline, .scale_rewards = ScaleRewards::kNone}, {}));
  }
}

TEST(AdvantagesTest, NormalizeAsTrlUnlessVerlsNormalizationIsSelected) {
  EXPECT_EQ(Advantages({kRewards, kWeights, 2}, {}, {}), GroupRelativeAdvantages(kRewards, 2, ScaleRewards::kGroup));
  EXPECT_EQ(Advantages({kRewards, kWeights, 1}, {.advantage_epsilon = 1e-6, .lone_sample_keeps_reward = true}, {}),
            GroupRelativeAdvantages(kRewards, 1, ScaleRewards::kGroup, kVerlNormalization));
}

TEST(AdvantageOptionsTest, RejectOptionsThatCannotBeCombined) {
  EXPECT_OK(ValidateAdvantageOptions({}));
  EXPECT_OK(ValidateAdvantageOptions({.multi_objective_aggregation = RewardAggregation::kNormalizeThenSum}));
  EXPECT_THAT(ValidateAdvantageOptions({.ddof = 2}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ddof")));
  EXPECT_THAT(ValidateAdvantageOptions(
                  {.baseline = Baseline::kNone, .multi_objective_aggregation = RewardAggregation::kNormalizeThenSum}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("baseline none; it needs group_mean")));
  EXPECT_THAT(ValidateAdvantageOptions(
                  {.multi_objective_aggregation = RewardAggregation::kNormalizeThenSum, .reward_beta = 0.1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("set beta to 0")));
}

TEST(AdvantageOptionsTest, RejectOptionsThatHaveNoTokenAdvantages) {
  EXPECT_THAT(ValidateAdvantageOptions({.gamma = 1.5}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gamma is 1.5; expected 0 to 1")));
  EXPECT_THAT(ValidateAdvantageOptions({.baseline = Baseline::kGreedy, .whiten_tokens = true}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("baseline greedy")));
  EXPECT_THAT(ValidateAdvantageOptions({.reward_beta = 0.1, .whiten_tokens = true}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("baseline group_mean")));
  EXPECT_OK(ValidateAdvantageOptions({.baseline = Baseline::kNone, .reward_beta = 0.1, .whiten_tokens = true}));
}

TEST(AdvantageOptionsTest, RejectOptionsThatHaveNoMeaningByStep) {
  for (const Baseline baseline : {Baseline::kStepGroupMean, Baseline::kStepLeaveOneOut, Baseline::kStepNone}) {
    EXPECT_OK(ValidateAdvantageOptions({.baseline = baseline, .reward_beta = 0.1, .gamma = 0}));
    EXPECT_TRUE(ByToken({.baseline = baseline}));
    const std::string name(BaselineName(baseline));
    EXPECT_THAT(ValidateAdvantageOptions({.baseline = baseline, .whiten_tokens = true}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("whiten_tokens cannot be combined with baseline " + name)));
    EXPECT_THAT(ValidateAdvantageOptions({.baseline = baseline, .baseline_over_batch = true}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("baseline_scope batch cannot be combined with baseline " + name)));
    EXPECT_THAT(ValidateAdvantageOptions(
                    {.baseline = baseline, .multi_objective_aggregation = RewardAggregation::kNormalizeThenSum}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("it needs group_mean")));
  }
  EXPECT_THAT(ValidateAdvantageOptions({.baseline = Baseline::kStepGroupMean, .scale_rewards = ScaleRewards::kBatch}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scale_rewards batch cannot be combined")));
}

TEST(AdvantageOptionsTest, ParseTheNamesOfBaselines) {
  for (int i = 0; i <= static_cast<int>(Baseline::kStepNone); ++i) {
    ASSERT_OK_AND_ASSIGN(const Baseline read, ParseBaseline(BaselineName(static_cast<Baseline>(i))));
    EXPECT_EQ(static_cast<int>(read), i);
  }
  EXPECT_THAT(ParseBaseline("greeedy"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"greedy\"?")));
}

}  // namespace
}  // namespace reprise::rl
