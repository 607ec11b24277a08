#include "rl/value/ppo_targets.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(PpoTargetsTest, AreTheReturnMinusTheValueWithLambdaOne) {
  const std::vector<double> value_T = {0.5, 0.25}, kl_T = {1.0, 2.0};
  const PpoTargets targets = MakePpoTargets({{3.0, value_T, kl_T, {}}}, {{1.0, 1.0}, 0.5, false});
  EXPECT_EQ(targets.return_NT[0], (std::vector<double>{-0.5 + 2.0, 2.0}));
  EXPECT_EQ(targets.advantage_NT[0], (std::vector<double>{1.0, 1.75}));
}

// Two actions of one and two tokens, an observation of two between them; gamma = lambda = 1/2.
//   r = 1, -, -, 0, 2 + 4      V = 1, -, -, 2, 4
//   t = 4: delta 6 - 4 = 2, A = 2;  t = 3: delta 0 + 4/2 - 2 = 0, A = 0 + 2/4 = 1/2
//   t = 0: delta 1 + 2/2 - 1 = 1, A = 1 + (1/2)/4 = 9/8, across the observation
TEST(PpoTargetsTest, CreditARewardToItsTurnAndToEarlierTurns) {
  const std::vector<double> value_T = {1, kNan, kNan, 2, 4}, earned_T = {1, 0, 0, 0, 2};
  const std::vector<uint8_t> mask_T = {1, 0, 0, 1, 1};
  const PpoTargets targets = MakePpoTargets({{4, value_T, {}, mask_T, earned_T}}, {{0.5, 0.5}, 0.0, false});
  EXPECT_EQ(targets.advantage_NT[0], (std::vector<double>{1.125, 0, 0, 0.5, 2}));
  EXPECT_EQ(targets.return_NT[0], (std::vector<double>{2.125, 0, 0, 2.5, 6}));
  // With one sum at the end, the first action has the same return as the second.
  const PpoTargets summed = MakePpoTargets({{7, value_T, {}, mask_T}}, {{0.5, 0.5}, 0.0, false});
  EXPECT_EQ(summed.advantage_NT[0], (std::vector<double>{0.1875, 0, 0, 0.75, 3}));
}

// gamma = lambda = 1/2, no reward but 4 at the end, V = 1, -, 2, and 8 where the episode was truncated.
//   t = 2: delta 4 + 8/2 - 2 = 6, A = 6;   t = 0: delta 0 + 2/2 - 1 = 0, A = 0 + 6/4
TEST(PpoTargetsTest, BootstrapFromTheValueOnlyWhereAnEpisodeWasTruncated) {
  const std::vector<double> value_T = {1, kNan, 2, kNan};
  const std::vector<uint8_t> mask_T = {1, 0, 1, 0};
  const PpoTargetOptions options = {{0.5, 0.5}, 0.0, false};
  const PpoTargets cut = MakePpoTargets({{4, value_T, {}, mask_T, {}, true, 8.0}}, options);
  EXPECT_EQ(cut.advantage_NT[0], (std::vector<double>{1.5, 0, 6, 0}));
  EXPECT_EQ(cut.return_NT[0], (std::vector<double>{2.5, 0, 8, 0}));
  const PpoTargets over = MakePpoTargets({{4, value_T, {}, mask_T}}, options);
  EXPECT_EQ(over.return_NT[0], (std::vector<double>{1.5, 0, 4, 0}));
}

// A published run's numbers, whose three states end without a further one.
TEST(PpoTargetsTest, HaveThePublishedValues) {
  const std::vector<double> value_T = {.9, .6, .7}, earned_T = {1, .5, .8};
  const PpoTargets targets = MakePpoTargets({{0, value_T, {}, {}, earned_T}}, {{0.99, 0.95}, 0.0, false});
  EXPECT_NEAR(targets.advantage_NT[0][0], 1.340170525, 1e-12);
  EXPECT_NEAR(targets.advantage_NT[0][1], 0.68705, 1e-12);
  EXPECT_NEAR(targets.advantage_NT[0][2], 0.1, 1e-12);
}

// The same steps as turns of 2, 1 and 3 tokens: values that are no turn's first are not read, and masked tokens
// neither.
TEST(PpoTargetsTest, TurnsAreSteps) {
  const std::vector<double> value_T = {.9, 7, .6, kNan, .7, 7, 7}, earned_T = {.25, .75, .5, 0, 0, 0, .8};
  const std::vector<uint8_t> mask_T = {1, 1, 1, 0, 1, 1, 1};
  const std::vector<int32_t> turn_T = {0, 0, 1, 2, 2, 2, 2};
  ValuedTokens episode = {0, value_T, {}, mask_T, earned_T};
  episode.turn_T = turn_T;
  const PpoTargets targets = MakePpoTargets({episode}, {{0.99, 0.95}, 0.0, false});
  const std::vector<double> advantage_T = {1.340170525, 1.340170525, 0.68705, 0, 0.1, 0.1, 0.1};
  for (size_t t = 0; t < advantage_T.size(); ++t) {
    EXPECT_NEAR(targets.advantage_NT[0][t], advantage_T[t], 1e-12) << t;
  }
  const std::vector<double>& return_T = targets.return_NT[0];
  EXPECT_EQ(return_T[0], return_T[1]);
  EXPECT_EQ(return_T[3], 0.0);
  for (const size_t t : {4, 5, 6}) EXPECT_NEAR(return_T[t], 0.8, 1e-12) << t;
}

// Three turns, of the second of which no token is learned; gamma = lambda = 1/2; r = 1, 2, 3 + 4, V = 1, -, 2.
//   turn 2: delta 7 + 8/2 - 2 = 9, A = 9, with the value 8 of the state where the episode was truncated
//   turn 1 has no value; as 2 + 2/2 = 3 its delta is 0: A = 9/4
//   turn 0: delta 1 + 3/2 - 1 = 3/2, A = 3/2 + (9/4)/4 = 33/16, return 33/16 + 1
TEST(PpoTargetsTest, ATurnWithoutLearnedTokensIsAStepWithoutAValue) {
  const std::vector<double> value_T = {1, 7, kNan, kNan, 2}, earned_T = {0, 1, 0, 2, 3};
  const std::vector<uint8_t> mask_T = {1, 1, 0, 0, 1};
  const std::vector<int32_t> turn_T = {0, 0, 1, 1, 2};
  ValuedTokens episode = {4, value_T, {}, mask_T, earned_T, true, 8.0};
  episode.turn_T = turn_T;
  const PpoTargets targets = MakePpoTargets({episode}, {{0.5, 0.5}, 0.0, false});
  EXPECT_EQ(targets.advantage_NT[0], (std::vector<double>{2.0625, 2.0625, 0, 0, 9}));
  EXPECT_EQ(targets.return_NT[0], (std::vector<double>{3.0625, 3.0625, 0, 0, 11}));
}

// The same at the end: r = 1, 2 + 4; V = 1, -. The last turn is 6 + 8/2 = 10; turn 0: delta 1 + 10/2 - 1 = 5 = A. Where
// the episode is over: 1 + 6/2 - 1 = 3.
TEST(PpoTargetsTest, ALastTurnWithoutLearnedTokensIsDiscountedAndBootstraps) {
  const std::vector<double> value_T = {1, kNan}, earned_T = {1, 2};
  const std::vector<uint8_t> mask_T = {1, 0};
  const std::vector<int32_t> turn_T = {0, 1};
  ValuedTokens episode = {4, value_T, {}, mask_T, earned_T, true, 8.0};
  episode.turn_T = turn_T;
  const PpoTargetOptions options = {{0.5, 0.5}, 0.0, false};
  EXPECT_EQ(MakePpoTargets({episode}, options).advantage_NT[0], (std::vector<double>{5, 0}));
  episode.bootstrap = std::nullopt;
  EXPECT_EQ(MakePpoTargets({episode}, options).advantage_NT[0], (std::vector<double>{3, 0}));
  // Token by token the reward of the last turn is added to that of the token before: 1 + 2 + 4 - 1.
  episode.turn_T = {};
  EXPECT_EQ(MakePpoTargets({episode}, options).advantage_NT[0], (std::vector<double>{6, 0}));
}

// Texts of a batch are no steps of one episode: the original's time axis is the batch.
TEST(PpoTargetsTest, EpisodesAreIndependent) {
  const std::vector<double> value_T = {.9, .6}, other_T = {5, 6}, earned_T = {1, .5}, more_T = {9, 9};
  const PpoTargetOptions options = {{0.99, 0.95}, 0.0, false};
  const PpoTargets alone = MakePpoTargets({{0, value_T, {}, {}, earned_T}}, options);
  const PpoTargets beside = MakePpoTargets({{0, value_T, {}, {}, earned_T}, {0, other_T, {}, {}, more_T}}, options);
  EXPECT_EQ(alone.advantage_NT[0], beside.advantage_NT[0]);
}

// Earlier rewards 1, 2, 3, 6 and the batch's 0, 0, masked, 12: the mean is 24 / 7, the squares of distances are
// 1 + 4 + 9 + 36 + 144 - 7 (24 / 7)^2 = 194 - 576 / 7.
TEST(PpoTargetsTest, DivideRewardsByTheirDeviationOverAllStepsSoFar) {
  const std::vector<double> value_T = {0, 0, kNan, 0};
  const std::vector<uint8_t> mask_T = {1, 1, 0, 1};
  PpoTargetOptions options = {{1.0, 1.0}, 0.0, false};
  options.earlier_rewards = kernels::Moments{4, 3, 14};
  const PpoTargets targets = MakePpoTargets({{12, value_T, {}, mask_T}}, options);
  const double squares = 194.0 - 576.0 / 7;
  EXPECT_EQ(targets.rewards.count, 7);
  EXPECT_NEAR(targets.rewards.mean, 24.0 / 7, 1e-14);
  EXPECT_NEAR(targets.rewards.squares, squares, 1e-12);
  EXPECT_NEAR(targets.return_NT[0][3], 12 / std::sqrt(squares / 7 + 1e-8), 1e-12);
  // 0, 0 and 1000 behind a thousand zeros: the deviation is so small that the reward is clipped.
  options.earlier_rewards = kernels::Moments{1000, 0, 0};
  EXPECT_EQ(MakePpoTargets({{1000, value_T, {}, mask_T}}, options).return_NT[0][3], 10.0);
  // Rewards that are all equal have no deviation.
  options.earlier_rewards = kernels::Moments();
  const std::vector<double> one = {0.0};
  EXPECT_EQ(MakePpoTargets({{12, one, {}, {}}}, options).return_NT[0][0], 12.0);
}

TEST(PpoTargetsTest, SummariseAdvantagesBeforeWhitening) {
  const std::vector<double> zero = {0.0};
  const PpoTargets targets = MakePpoTargets({{1.0, zero, {}, {}}, {3.0, zero, {}, {}}}, {{}, 0.0, true});
  EXPECT_EQ(targets.advantages, (kernels::Moments{2, 2, 2}));
}

TEST(PpoTargetsTest, WhitenAdvantagesAndLeaveReturnsAlone) {
  const std::vector<double> a = {0.0}, b = {0.0};
  const PpoTargets targets = MakePpoTargets({{1.0, a, {}, {}}, {3.0, b, {}, {}}}, {{}, 0.0, true});
  EXPECT_EQ(targets.advantage_NT[0][0], -targets.advantage_NT[1][0]);
  EXPECT_LT(targets.advantage_NT[1][0], 1.0);
  EXPECT_EQ(targets.return_NT[1][0], 3.0);
}

TEST(PpoTargetsTest, ScaleRewardsOverTheBatchBeforeComputingAdvantages) {
  const std::vector<double> zero_T = {0.0, 0.0}, one_T = {0.0};
  const PpoTargets targets = MakePpoTargets({{2.0, zero_T, {}, {}}, {4.0, one_T, {}, {}}}, {{1, 1}, 0, false, true});
  // Rewards 0, 2 and 4: mean 2, deviation 2.
  const double scale = 2 / std::sqrt(4 + 1e-8);
  EXPECT_DOUBLE_EQ(targets.return_NT[0][1], 2.0);
  EXPECT_DOUBLE_EQ(targets.return_NT[0][0], 2.0 + (2.0 - scale));
  EXPECT_DOUBLE_EQ(targets.return_NT[1][0], 2.0 + scale);
}

TEST(PpoTargetsTest, HaveNoGradientForAnUnscorableEpisode) {
  const std::vector<double> value_T = {0.5, kNan, 0.25}, one = {0.0};
  const std::vector<uint8_t> mask_T = {1, 0, 1};
  const PpoTargets with =
      MakePpoTargets({{1.0, one, {}, {}}, {kNan, value_T, {}, mask_T}, {3.0, one, {}, {}}}, {{}, 0.0, true});
  const PpoTargets without = MakePpoTargets({{1.0, one, {}, {}}, {3.0, one, {}, {}}}, {{}, 0.0, true});
  EXPECT_EQ(with.advantage_NT[1], (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(with.return_NT[1], (std::vector<double>{0.5, 0, 0.25}));
  EXPECT_EQ(with.advantage_NT[0], without.advantage_NT[0]);
  EXPECT_EQ(with.advantage_NT[2], without.advantage_NT[1]);
}

TEST(PpoTargetsTest, WhitenAndScaleOnlyOverLearnedEpisodes) {
  const std::vector<double> one = {0.25}, two = {0.5, -1.0};
  const PpoTargetOptions options = {{}, 0.0, true, true};
  const PpoTargets with = MakePpoTargets({{1.0, one}, {7.0, two, {}, {}, {}, false}, {3.0, one}, {2.0, two}}, options);
  const PpoTargets without = MakePpoTargets({{1.0, one}, {3.0, one}, {2.0, two}}, options);
  EXPECT_EQ(with.advantage_NT[1], (std::vector<double>{0, 0}));
  for (const auto& [n, m] : {std::pair(0, 0), std::pair(2, 1), std::pair(3, 2)}) {
    EXPECT_EQ(with.advantage_NT[n], without.advantage_NT[m]);
    EXPECT_EQ(with.return_NT[n], without.return_NT[m]);
  }
}

TEST(GaeTest, HasTheValuesOfThePublishedExample) {
  const std::vector<double> reward_T = {1, 0.5, 0.8}, value_T = {0.9, 0.6, 0.7};
  const Gae gae = GeneralizedAdvantages({.reward_T = reward_T, .value_T = value_T}, {.gamma = 0.99, .lambda = 0.95});
  EXPECT_NEAR(gae.advantage_T[0], 1.340170525, 1e-15);
  EXPECT_NEAR(gae.advantage_T[1], 0.68705, 1e-15);
  EXPECT_NEAR(gae.advantage_T[2], 0.1, 1e-15);
  for (int t = 0; t < 3; ++t) EXPECT_EQ(gae.return_T[t], gae.advantage_T[t] + value_T[t]);
}

TEST(GaeTest, BootstrapsAfterATruncatedLastStep) {
  const std::vector<double> reward_T = {1.0}, value_T = {0.25}, bootstrap_T = {2.0};
  const std::vector<StepEnd> end_T = {StepEnd::kTruncated};
  const Gae gae = GeneralizedAdvantages(
      {.reward_T = reward_T, .value_T = value_T, .mask_T = {}, .end_T = end_T, .bootstrap_T = bootstrap_T},
      {.gamma = 0.5, .lambda = 0.9});
  EXPECT_EQ(gae.advantage_T[0], 1.0 + 0.5 * 2.0 - 0.25);
}

TEST(GaeTest, CarriesNothingOverAnEndAndBootstrapsOnlyATruncatedStep) {
  const std::vector<double> reward_T = {1, 2, 3, 4}, value_T = {0.5, 0.25, 0.75, 0.125};
  const std::vector<StepEnd> end_T = {StepEnd::kContinues, StepEnd::kTerminated, StepEnd::kTruncated,
                                      StepEnd::kTerminated};
  const std::vector<double> bootstrap_T = {kNan, kNan, 8.0, kNan};
  const Gae gae = GeneralizedAdvantages(
      {.reward_T = reward_T, .value_T = value_T, .mask_T = {}, .end_T = end_T, .bootstrap_T = bootstrap_T},
      {.gamma = 0.5, .lambda = 0.5});
  EXPECT_EQ(gae.advantage_T[3], 4 - 0.125);
  EXPECT_EQ(gae.advantage_T[2], 3 + 0.5 * 8 - 0.75);
  EXPECT_EQ(gae.advantage_T[1], 2 - 0.25);
  EXPECT_EQ(gae.advantage_T[0], (1 + 0.5 * 0.25 - 0.5) + 0.25 * (2 - 0.25));
}

TEST(GaeTest, SkipsMaskedSteps) {
  const std::vector<double> with_T = {kNan, 1, kNan, 2, 3, kNan}, value_T = {kNan, 0.5, kNan, 0.25, 0.75, kNan};
  const std::vector<uint8_t> mask_T = {0, 1, 0, 1, 1, 0};
  const std::vector<double> without = {1, 2, 3}, value_without = {0.5, 0.25, 0.75};
  const GaeOptions options = {.gamma = 0.9, .lambda = 0.8};
  const Gae skipped = GeneralizedAdvantages({.reward_T = with_T, .value_T = value_T, .mask_T = mask_T}, options);
  const Gae plain = GeneralizedAdvantages({.reward_T = without, .value_T = value_without}, options);
  EXPECT_EQ(skipped.advantage_T,
            (std::vector<double>{0, plain.advantage_T[0], 0, plain.advantage_T[1], plain.advantage_T[2], 0}));
  EXPECT_EQ(skipped.return_T, (std::vector<double>{0, plain.return_T[0], 0, plain.return_T[1], plain.return_T[2], 0}));
}

TEST(GaeTest, IsEmptyWithoutSteps) { EXPECT_TRUE(GeneralizedAdvantages({}, {}).advantage_T.empty()); }

struct Inputs {
  std::vector<double> reward_T, value_T;
  double gamma;
};

Inputs RandomInputs() {
  Inputs in;
  const int steps = *rc::gen::inRange(1, 20);
  for (int t = 0; t < steps; ++t) {
    in.reward_T.push_back(*rc::gen::inRange(-1000, 1000) * 1e-3);
    in.value_T.push_back(*rc::gen::inRange(-1000, 1000) * 1e-3);
  }
  in.gamma = *rc::gen::inRange(0, 101) * 1e-2;
  return in;
}

RC_GTEST_PROP(GaeTest, WithLambdaZeroIsTheTemporalDifferenceError, ()) {
  const Inputs in = RandomInputs();
  const Gae gae = GeneralizedAdvantages({.reward_T = in.reward_T, .value_T = in.value_T}, {in.gamma, 0.0});
  for (size_t t = 0; t < in.reward_T.size(); ++t) {
    const double next = t + 1 < in.value_T.size() ? in.value_T[t + 1] : 0.0;
    RC_ASSERT(gae.advantage_T[t] == in.reward_T[t] + in.gamma * next - in.value_T[t]);
  }
}

RC_GTEST_PROP(GaeTest, WithLambdaOneIsTheReturnMinusTheValue, ()) {
  const Inputs in = RandomInputs();
  const Gae gae = GeneralizedAdvantages({.reward_T = in.reward_T, .value_T = in.value_T}, {in.gamma, 1.0});
  double discounted = 0.0;
  for (size_t t = in.reward_T.size(); t-- > 0;) {
    discounted = in.reward_T[t] + in.gamma * discounted;
    RC_ASSERT(std::fabs(gae.advantage_T[t] - (discounted - in.value_T[t])) < 1e-12);
    RC_ASSERT(std::fabs(gae.return_T[t] - discounted) < 1e-12);
  }
}

}  // namespace

}  // namespace reprise::rl
