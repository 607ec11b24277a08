#include "rl/workloads/morphogenesis/growth_reward.h"

#include <algorithm>
#include <optional>

#include "kernels/math/scalar_math.h"
#include "rl/workloads/morphogenesis/governor.h"

namespace reprise::rl {
namespace {

using models::Stage;

constexpr double kDiscount = 0.99, kAccuracyWeight = 2, kPotentialWeight = 0.3, kLossPotentialWeight = 0.1,
                 kTerminalWeight = 0.05;
constexpr double kRent = 0.5, kMostRent = 8, kMostLossRent = 5;
constexpr double kGerminateBonus = 0.297, kOccupied = -0.3, kNothingThere = -0.2, kNotReady = -1;

double Number(int64_t value) { return static_cast<double>(value); }

// Parameters that were added to the host, as a share of its own.
double Growth(const RewardedState& state) {
  const int64_t live = state.report.seed ? state.report.seed->params : 0;
  return Number(state.report.fossil_params + live) / Number(state.scale.host_params);
}

double Rent(const RewardedState& state, double weight, double most) {
  const double growth = Growth(state);
  return growth > 0 ? -std::min(weight * kernels::Log(1 + growth), most) : 0;
}

// The potential grows with the time in a stage, up to a limit.
struct PotentialShape {
  double per_epoch = 0, most = 0;

  double At(Stage stage, int64_t epochs_in_stage) const {
    if (stage <= Stage::kDormant) return 0;
    return StagePotential(stage) + std::min(per_epoch * Number(epochs_in_stage), most);
  }
};

constexpr PotentialShape kShapedPotential = {0.5, 3}, kContributionPotential = {0.3, 2};

// Returns 0.99 phi(s') - phi(s), for the potential of the seed in the slot.
template <typename PhiOfSeed>
double PotentialChange(const RewardedState& state, const PhiOfSeed& phi) {
  const auto of_slot = [&](const std::optional<SeedReport>& seed) { return seed ? phi(*seed) : 0.0; };
  const bool is_over = state.is_last() && !state.scale.is_bootstrapped;
  return kDiscount * (is_over ? 0.0 : of_slot(state.report.seed)) - of_slot(state.before);
}

double Potential(const RewardedState& state) {
  return kPotentialWeight * PotentialChange(state, [&](const SeedReport& seed) {
           const bool contributes = state.by_contribution && seed.counterfactual;
           return (contributes ? kContributionPotential : kShapedPotential).At(seed.stage, seed.epochs_in_stage);
         });
}

double LossPotential(const RewardedState& state) {
  return kLossPotentialWeight *
         PotentialChange(state, [](const SeedReport& seed) { return StagePotential(seed.stage); });
}

double StageBonus(const RewardedState& state) {
  if (!state.report.seed) return 0;
  const SeedReport& seed = *state.report.seed;
  switch (seed.stage) {
    case Stage::kTraining:
      return 0.2 + 0.1 * std::max(seed.stage_improvement, 0.0);
    case Stage::kBlending:
      return 0.3 + (state.signals.accuracy_delta > 0 ? 0.2 : 0);
    case Stage::kFossilized:
      return 0.5;
    default:
      return 0;
  }
}

double Terminal(const RewardedState& state) {
  return state.is_last() ? kTerminalWeight * state.signals.measures.val_accuracy : 0;
}

double ShapedFossilize(const SeedReport& seed) {
  switch (seed.stage) {
    case Stage::kProbationary:
      return seed.total_improvement > 0 ? 2.0 + 0.1 * seed.total_improvement : kNotReady;
    case Stage::kTraining:
    case Stage::kBlending:
    case Stage::kShadowing:
      return kNotReady;
    case Stage::kFossilized:
      return -0.5;
    default:
      return 0;
  }
}

bool IsTooYoung(const SeedReport& seed) { return seed.age < models::kMinCullAge; }
double TooYoung(const SeedReport& seed) { return -0.3 * Number(models::kMinCullAge - seed.age); }

double ShapedCull(const SeedReport& seed) {
  if (seed.stage == Stage::kFossilized) return -1;
  if (IsTooYoung(seed) && seed.stage <= Stage::kTraining) return TooYoung(seed);
  const double improvement = seed.stage_improvement;
  const double stage = static_cast<double>(seed.stage);
  double reward = 0;
  if (improvement < -1) {
    reward = 0.3;
  } else if (improvement < 0) {
    reward = 0.15;
  } else {
    reward = -0.3 - 0.1 * improvement - 0.5 * std::max(0.0, stage - static_cast<double>(Stage::kTraining));
  }
  const bool is_failing = improvement < 0 && seed.stage >= Stage::kBlending;
  const double health = is_failing ? std::max(0.3, 1 + improvement / 3) : 1;
  const double freed = std::min(0.5, Number(seed.params) / 10000 * 0.1);
  return reward + freed - kPotentialWeight * kShapedPotential.At(seed.stage, seed.epochs_in_stage) * health;
}

double ShapedWait(const SeedReport& seed) {
  const double improvement = seed.stage_improvement;
  switch (seed.stage) {
    case Stage::kTraining:
      if (improvement > 0.5) return 0.1;
      return seed.epochs_in_stage > 5 ? -0.1 : 0;
    case Stage::kBlending:
      return improvement > 0.5 ? 0.1 : 0;
    case Stage::kShadowing:
    case Stage::kProbationary:
      return improvement > 0 ? 0.1 : 0;
    default:
      return 0;
  }
}

double ShapedAction(const RewardedState& state) {
  const std::optional<SeedReport>& seed = state.report.seed;
  switch (state.action) {
    case GrowthActionKind::kGerminate:
      return seed ? kOccupied : kGerminateBonus;
    case GrowthActionKind::kFossilize:
      return seed ? ShapedFossilize(*seed) : kNothingThere;
    case GrowthActionKind::kCull:
      return seed ? ShapedCull(*seed) : kNothingThere;
    case GrowthActionKind::kWait:
      if (seed) return ShapedWait(*seed);
      return state.signals.accuracy_delta < 0.5 ? -0.1 : 0;
  }
  return 0;
}

double Contribution(const RewardedState& state) {
  if (!state.report.seed || !state.report.seed->counterfactual) return 0;
  const double contribution = *state.report.seed->counterfactual;
  if (contribution < 0) return 3 * contribution;
  const double gained = std::max(0.0, state.signals.measures.val_accuracy - state.report.seed->germination_accuracy);
  return 3 * std::min(gained, contribution);
}

double ContributionFossilize(const std::optional<SeedReport>& seed) {
  if (!seed || seed->stage != Stage::kProbationary) return kNotReady;
  const double contribution = seed->counterfactual.value_or(0);
  if (contribution <= 0) return -0.2;
  return (0.5 + 0.1 * contribution) *
         std::min(1.0, Number(seed->epochs_in_stage) / Number(models::kMinProbationEpochs));
}

double ContributionCull(const std::optional<SeedReport>& seed) {
  if (!seed) return kNothingThere;
  if (seed->stage == Stage::kFossilized) return -1;
  if (IsTooYoung(*seed)) return TooYoung(*seed);
  if (!seed->counterfactual) return 0;
  const double contribution = *seed->counterfactual;
  if (contribution < -0.5) return 0.3;
  return contribution < 0 ? 0.1 : -0.3 - 0.05 * contribution;
}

// With the costs of interventions.
double ContributionAction(const RewardedState& state) {
  const std::optional<SeedReport>& seed = state.report.seed;
  switch (state.action) {
    case GrowthActionKind::kGerminate:
      return (seed ? kOccupied : kGerminateBonus) - 0.02;
    case GrowthActionKind::kFossilize:
      return ContributionFossilize(seed) - 0.01;
    case GrowthActionKind::kCull:
      return ContributionCull(seed) - 0.005;
    case GrowthActionKind::kWait:
      return 0;
  }
  return 0;
}

GrowthReward RolledBack(double potential) { return {.potential = potential, .rollback = Governor::kRollbackReward}; }

}  // namespace

double StagePotential(Stage stage) {
  constexpr double kPotential[] = {0, 0, 1, 2, 3.5, 4.5, 5.5, 6};
  const size_t index = static_cast<size_t>(stage);
  return index < std::size(kPotential) ? kPotential[index] : 0;
}

GrowthReward ShapedReward(const RewardedState& state) {
  if (state.report.was_rolled_back) return RolledBack(Potential(state));
  return {.progress = kAccuracyWeight * state.signals.accuracy_delta,
          .rent = Rent(state, kRent, kMostRent),
          .stage = StageBonus(state),
          .potential = Potential(state),
          .action = ShapedAction(state),
          .terminal = Terminal(state)};
}

GrowthReward ContributionReward(const RewardedState& state) {
  if (state.report.was_rolled_back) return RolledBack(Potential(state));
  return {.progress = Contribution(state),
          .rent = Rent(state, kRent, kMostRent),
          .potential = Potential(state),
          .action = ContributionAction(state),
          .terminal = Terminal(state)};
}

GrowthReward LossReward(const RewardedState& state, const LossRewardScale& task) {
  if (state.report.was_rolled_back) return RolledBack(LossPotential(state));
  // The signal is positive where the loss falls.
  const double rise = std::clamp(-state.signals.loss_delta / task.delta_deviation, -5.0, 5.0);
  const bool pays_rent = !state.report.seed || state.report.seed->age >= 3;
  GrowthReward reward = {.progress = -5 * (rise > 0 ? 0.5 * rise : rise),
                         .rent = pays_rent ? Rent(state, task.rent, kMostLossRent) : 0,
                         .potential = LossPotential(state)};
  if (state.is_last()) {
    const double share =
        (task.baseline_loss - state.signals.measures.val_loss) / (task.baseline_loss - task.target_loss);
    reward.terminal = std::clamp(share, 0.0, 1.0);
  }
  return reward;
}

}  // namespace reprise::rl
