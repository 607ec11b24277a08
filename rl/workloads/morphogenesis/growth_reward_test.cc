#include "rl/workloads/morphogenesis/growth_reward.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

using models::Stage;

constexpr double kEps = 5e-7;  // golden numbers have six digits
constexpr double kRentOfConvLight = 0.157405;

const GrowthScale kScale = {.max_epochs = 25, .host_params = 100000, .is_bootstrapped = true};

TrainingSignals Signals(double accuracy_delta, int64_t epoch = 12, double accuracy = 0) {
  return {.epoch = epoch, .measures = {.val_accuracy = accuracy}, .accuracy_delta = accuracy_delta};
}

// The seed an epoch earlier, if it was there.
std::optional<SeedReport> Before(const GrowthReport& report) {
  std::optional<SeedReport> before = report.seed;
  if (!before) return before;
  if (before->epochs_in_stage > 0) {
    --before->epochs_in_stage;
  } else {
    before->stage = before->previous_stage;
    before->epochs_in_stage = before->previous_epochs_in_stage;
  }
  return before;
}

GrowthReward RewardByShaping(const TrainingSignals& signals, const GrowthReport& report, GrowthActionKind action) {
  return ShapedReward({signals, report, Before(report), kScale, action});
}

GrowthReward RewardByContribution(const TrainingSignals& signals, const GrowthReport& report, GrowthActionKind action) {
  return ContributionReward({signals, report, Before(report), kScale, action, /*by_contribution=*/true});
}

GrowthReward RewardByLoss(const TrainingSignals& signals, const GrowthReport& report) {
  return LossReward({signals, report, Before(report), kScale, GrowthActionKind::kWait}, {});
}

double Shaped(const TrainingSignals& signals, const GrowthReport& report, GrowthActionKind action) {
  return RewardByShaping(signals, report, action).total();
}

double ByContribution(const TrainingSignals& signals, const GrowthReport& report, GrowthActionKind action) {
  return RewardByContribution(signals, report, action).total();
}

SeedReport Seed(Stage stage, int64_t epochs_in_stage, double improvement = 0) {
  return {.stage = stage, .epochs_in_stage = epochs_in_stage, .age = 12, .stage_improvement = improvement};
}

GrowthReport With(const SeedReport& seed) { return {.seed = seed}; }

TEST(ShapedRewardTest, HasTheGoldenNumbers) {
  EXPECT_NEAR(Shaped(Signals(0.2), {}, GrowthActionKind::kWait), 0.3, kEps);
  SeedReport training = Seed(Stage::kTraining, 3, 1);
  training.params = 37000;
  EXPECT_NEAR(Shaped(Signals(0.5), With(training), GrowthActionKind::kWait), 1.382095, kEps);
  SeedReport blending = Seed(Stage::kBlending, 2, -2);
  blending.params = 37000;
  EXPECT_NEAR(Shaped(Signals(-0.5), With(blending), GrowthActionKind::kCull), -0.500905, kEps);
  SeedReport probationary = Seed(Stage::kProbationary, 2);
  probationary.total_improvement = 3;
  EXPECT_NEAR(Shaped(Signals(0, 25, 70), With(probationary), GrowthActionKind::kFossilize), 5.9305, kEps);
}

TEST(ShapedRewardTest, HasTheGoldenPotentialOfAChangeOfStage) {
  SeedReport seed = Seed(Stage::kBlending, 0);
  seed.previous_stage = Stage::kTraining;
  seed.previous_epochs_in_stage = 3;
  const TrainingSignals signals = Signals(0);
  const GrowthReport report = With(seed);
  EXPECT_NEAR(RewardByShaping(signals, report, GrowthActionKind::kWait).potential, -0.0105, kEps);
}

TEST(ShapedRewardTest, PaysRentOnceForFossilsAndForTheLiveSeed) {
  const auto rent = [](int64_t fossil, int64_t live) {
    GrowthReport report = {.fossil_params = fossil};
    if (live > 0) report.seed = SeedReport{.params = live};
    const TrainingSignals signals = Signals(0);
    return RewardByShaping(signals, report, GrowthActionKind::kWait).rent;
  };
  EXPECT_EQ(rent(0, 0), 0);
  EXPECT_NEAR(rent(0, 37000), -kRentOfConvLight, kEps);
  EXPECT_NEAR(rent(37000, 0), -kRentOfConvLight, kEps) << "esper-lite counts it twice after it was fossilised";
  EXPECT_EQ(rent(20000, 17000), rent(37000, 0));
  EXPECT_EQ(rent(int64_t{1} << 60, 0), -8) << "at most 8";
}

TEST(ShapedRewardTest, JudgesActionsByTheStage) {
  const auto action = [](const GrowthReport& report, GrowthActionKind kind) {
    const TrainingSignals signals = Signals(0);
    return RewardByShaping(signals, report, kind).action;
  };
  const auto with = [](Stage stage, int64_t epochs, double improvement, int64_t age = 12) {
    SeedReport seed = Seed(stage, epochs, improvement);
    seed.total_improvement = improvement;
    seed.age = age;
    return With(seed);
  };
  EXPECT_EQ(action({}, GrowthActionKind::kGerminate), 0.297);
  EXPECT_EQ(action(with(Stage::kTraining, 1, 0), GrowthActionKind::kGerminate), -0.3);
  EXPECT_EQ(action({}, GrowthActionKind::kFossilize), -0.2);
  EXPECT_EQ(action(with(Stage::kTraining, 1, 0), GrowthActionKind::kFossilize), -1);
  EXPECT_EQ(action(with(Stage::kProbationary, 1, 0), GrowthActionKind::kFossilize), -1) << "no improvement";
  EXPECT_EQ(action(with(Stage::kFossilized, 1, 0), GrowthActionKind::kFossilize), -0.5);
  EXPECT_EQ(action(with(Stage::kGerminated, 1, 0), GrowthActionKind::kFossilize), 0);
  EXPECT_EQ(action({}, GrowthActionKind::kCull), -0.2);
  EXPECT_EQ(action(with(Stage::kFossilized, 1, 0), GrowthActionKind::kCull), -1);
  EXPECT_NEAR(action(with(Stage::kTraining, 1, 0, 4), GrowthActionKind::kCull), -1.8, kEps);
  // A good seed: -0.3 - 0.1 2 - 0.5 (5 - 3) - 0.3 (4.5 + 0.5 1).
  EXPECT_NEAR(action(with(Stage::kShadowing, 1, 2), GrowthActionKind::kCull), -3.0, kEps);
  // A seed that fails a little, in training: 0.15 - 0.3 (2 + 0.5), without the discount of a failing blend.
  EXPECT_NEAR(action(with(Stage::kTraining, 1, -0.5), GrowthActionKind::kCull), -0.6, kEps);
  EXPECT_EQ(action(with(Stage::kTraining, 1, 1), GrowthActionKind::kWait), 0.1);
  EXPECT_EQ(action(with(Stage::kTraining, 5, 0), GrowthActionKind::kWait), 0);
  EXPECT_EQ(action(with(Stage::kTraining, 6, 0), GrowthActionKind::kWait), -0.1);
  EXPECT_EQ(action(with(Stage::kBlending, 6, 0.5), GrowthActionKind::kWait), 0);
  EXPECT_EQ(action(with(Stage::kShadowing, 6, 0.25), GrowthActionKind::kWait), 0.1);
}

TEST(ShapedRewardTest, ARollbackEarnsMinusTenAndNothingElseButThePotential) {
  GrowthReport report = With(Seed(Stage::kTraining, 3, 1));
  report.was_rolled_back = true;
  const double change = 0.99 * (2 + 1.5) - (2 + 1);
  EXPECT_NEAR(Shaped(Signals(5, 25, 70), report, GrowthActionKind::kWait), -10 + 0.3 * change, kEps);
  EXPECT_NEAR(ByContribution(Signals(5, 25, 70), report, GrowthActionKind::kWait), -10 + 0.3 * change, kEps);
  EXPECT_NEAR(RewardByLoss(Signals(5), report).total(), -10 + 0.1 * (0.99 * 2 - 2), kEps);
}

// A seed that was in probation for 6 epochs, 5.5 + 3, is gone: 0.3 (0.99 0 - 8.5).
TEST(ShapedRewardTest, AnEmptiedSlotLosesThePotentialOfItsSeed) {
  const std::optional<SeedReport> before = Seed(Stage::kProbationary, 6);
  const GrowthReport empty;
  const TrainingSignals signals = Signals(1);
  const RewardedState state = {signals, empty, before, kScale};
  EXPECT_NEAR(ShapedReward(state).potential, -2.55, kEps);
  EXPECT_NEAR(LossReward(state, {}).potential, -0.55, kEps);
  RewardedState by_contribution = {signals, empty, before, kScale, GrowthActionKind::kWait, true};
  EXPECT_NEAR(ShapedReward(by_contribution).potential, -2.55, kEps);
  const std::optional<SeedReport> contributing =
      SeedReport{.stage = Stage::kProbationary, .epochs_in_stage = 6, .counterfactual = 1};  // 5.5 + 1.8
  EXPECT_NEAR(ShapedReward({signals, empty, contributing, kScale, GrowthActionKind::kWait, true}).potential, -2.19,
              kEps);
}

// One that germinated since the decision before, and was trained for an epoch: 0.3 (0.99 (2 + 0.5) - 0).
TEST(ShapedRewardTest, AGerminatedSeedBringsItsWholePotential) {
  const GrowthReport report = With(Seed(Stage::kTraining, 1));
  const TrainingSignals signals = Signals(0);
  EXPECT_NEAR(ShapedReward({signals, report, std::nullopt, kScale}).potential, 0.7425, kEps);
}

// The potential-based terms of any episode, discounted, sum to what its end leaves of them: 0 where it is over.
RC_GTEST_PROP(GrowthRewardTest, PotentialsTelescope, (bool is_bootstrapped)) {
  const int64_t epochs = *rc::gen::inRange(1, 12);
  const GrowthScale scale = {.max_epochs = epochs, .host_params = 1000, .is_bootstrapped = is_bootstrapped};
  std::vector<double> sums(3, 0.0);
  std::optional<SeedReport> before;
  double discount = 1;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch, discount *= 0.99) {
    GrowthReport report = {.was_rolled_back = *rc::gen::inRange(0, 8) == 0};
    if (*rc::gen::inRange(0, 4) > 0) {
      report.seed = Seed(static_cast<Stage>(*rc::gen::inRange(2, 7)), *rc::gen::inRange(0, 12));
      if (*rc::gen::arbitrary<bool>()) report.seed->counterfactual = *rc::gen::inRange(-3, 4);
    }
    const TrainingSignals signals = Signals(0, epoch);
    const auto state = [&](bool by_contribution) {
      return RewardedState{signals, report, before, scale, GrowthActionKind::kWait, by_contribution};
    };
    const bool is_known = report.seed && report.seed->counterfactual;
    sums[0] += discount * ShapedReward(state(false)).potential;
    sums[1] += discount * (is_known ? ContributionReward(state(true)) : ShapedReward(state(true))).potential;
    sums[2] += discount * LossReward(state(false), {}).potential;
    before = report.seed;
  }
  std::vector<double> left(3, 0.0);
  if (before && is_bootstrapped) {
    const double stage = StagePotential(before->stage), time = static_cast<double>(before->epochs_in_stage);
    left[0] = 0.3 * discount * (stage + std::min(0.5 * time, 3.0));
    left[1] = before->counterfactual ? 0.3 * discount * (stage + std::min(0.3 * time, 2.0)) : left[0];
    left[2] = 0.1 * discount * stage;
  }
  for (size_t k = 0; k < sums.size(); ++k) RC_ASSERT(std::fabs(sums[k] - left[k]) < 1e-12);
}

TEST(ContributionRewardTest, HasTheGoldenNumbers) {
  SeedReport probationary = Seed(Stage::kProbationary, 5);
  probationary.counterfactual = 2;
  probationary.germination_accuracy = 66;
  probationary.params = 37000;
  EXPECT_NEAR(ByContribution(Signals(0, 12, 70), With(probationary), GrowthActionKind::kFossilize), 6.601595, kEps);
  SeedReport blending = Seed(Stage::kBlending, 2);
  blending.counterfactual = -1;
  EXPECT_NEAR(ByContribution(Signals(0), With(blending), GrowthActionKind::kWait), -2.9223, kEps);
}

TEST(ContributionRewardTest, CreditsAtMostWhatTheNetworkGained) {
  SeedReport seed = Seed(Stage::kBlending, 2);
  seed.counterfactual = 8;
  seed.germination_accuracy = 66;
  const auto progress = [&](double accuracy) {
    const TrainingSignals signals = Signals(0, 12, accuracy);
    const GrowthReport report = With(seed);
    return RewardByContribution(signals, report, GrowthActionKind::kWait).progress;
  };
  EXPECT_EQ(progress(70), 12);
  EXPECT_EQ(progress(90), 24);
  EXPECT_EQ(progress(60), 0);
}

TEST(ContributionRewardTest, JudgesActionsByTheContribution) {
  const auto action = [](Stage stage, std::optional<double> contribution, GrowthActionKind kind, int64_t age = 12) {
    SeedReport seed = Seed(stage, 2);
    seed.counterfactual = contribution;
    seed.age = age;
    const TrainingSignals signals = Signals(0);
    const GrowthReport report = With(seed);
    return RewardByContribution(signals, report, kind).action;
  };
  const Stage probation = Stage::kProbationary;
  EXPECT_NEAR(action(probation, 2.0, GrowthActionKind::kFossilize), 0.7 * 2 / 5 - 0.01, kEps);
  EXPECT_NEAR(action(probation, 0.0, GrowthActionKind::kFossilize), -0.21, kEps);
  EXPECT_NEAR(action(Stage::kShadowing, 2.0, GrowthActionKind::kFossilize), -1.01, kEps);
  EXPECT_NEAR(action(probation, -0.6, GrowthActionKind::kCull), 0.3 - 0.005, kEps);
  EXPECT_NEAR(action(probation, -0.5, GrowthActionKind::kCull), 0.1 - 0.005, kEps);
  EXPECT_NEAR(action(probation, 2.0, GrowthActionKind::kCull), -0.4 - 0.005, kEps);
  EXPECT_NEAR(action(probation, std::nullopt, GrowthActionKind::kCull), -0.005, kEps);
  EXPECT_NEAR(action(probation, 2.0, GrowthActionKind::kCull, 9), -0.3 - 0.005, kEps);
  EXPECT_NEAR(action(probation, 2.0, GrowthActionKind::kGerminate), -0.32, kEps);
}

TEST(LossRewardTest, HasTheGoldenNumbers) {
  const auto reward = [](double rise) {
    // The signal is positive where the loss falls; the reward is defined by its rise.
    const TrainingSignals signals = {.epoch = 12, .loss_delta = -rise};
    const GrowthReport report;
    return RewardByLoss(signals, report).total();
  };
  EXPECT_NEAR(reward(-0.05), 5, kEps);
  EXPECT_NEAR(reward(0.05), -2.5, kEps);
  EXPECT_NEAR(reward(-1), 25, kEps);
  EXPECT_NEAR(reward(1), -12.5, kEps);
}

TEST(LossRewardTest, WaivesTheRentOfAYoungSeedAndEndsWithTheShareOfTheTarget) {
  const auto reward = [](int64_t age, int64_t epoch, double loss) {
    SeedReport seed = Seed(Stage::kTraining, 1);
    seed.params = 37000;
    seed.age = age;
    const TrainingSignals signals = {.epoch = epoch, .measures = {.val_loss = loss}};
    const GrowthReport report = With(seed);
    return RewardByLoss(signals, report);
  };
  EXPECT_EQ(reward(2, 12, 1).rent, 0);
  EXPECT_NEAR(reward(3, 12, 1).rent, -kRentOfConvLight / 10, kEps);
  EXPECT_NEAR(reward(3, 12, 1).potential, 0.1 * (0.99 * 2 - 2), kEps);
  EXPECT_EQ(reward(3, 12, 1).terminal, 0);
  EXPECT_NEAR(reward(3, 25, 1.3).terminal, 0.5, kEps);
  EXPECT_EQ(reward(3, 25, 0.1).terminal, 1);
  EXPECT_EQ(reward(3, 25, 9).terminal, 0);
}

}  // namespace
}  // namespace reprise::rl
