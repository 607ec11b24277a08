#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_REWARD_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_REWARD_H_

// What a decision of the controller earns, from the state before it is carried out: three rewards of esper-lite.
//
// Each has a potential-based term, w (0.99 phi(s') - phi(s)), where s' is the state and s that of the decision before,
// with the potential phi of the seed in the slot, which is 0 for an empty slot and before the first decision (Ng,
// Harada, Russell, "Policy invariance under reward transformations", ICML 1999). Where an episode is over after its
// last epoch, phi is 0 there (Grzes, "Reward shaping in episodic reinforcement learning", AAMAS 2017): so the terms of
// an episode, discounted by 0.99, sum to 0, and change no controller's advantage over another. Where its returns go on
// with a value, they sum to w 0.99^T phi of the last state. Each pays rent for the parameters that were added: those of
// fossils once, and those of the live seed.

#include <cstdint>
#include <optional>

#include "models/morphogenesis/life_cycle/stage.h"
#include "rl/workloads/morphogenesis/growth_actions.h"
#include "rl/workloads/morphogenesis/growth_report.h"

namespace reprise::rl {

// The parts of a reward; it is their sum.
struct GrowthReward {
  double progress = 0;  // of accuracy, loss, or what the seed contributed
  double rent = 0;      // at most 0
  double stage = 0;     // for being in a stage
  double potential = 0;
  double action = 0;    // for what was chosen
  double terminal = 0;  // after the last epoch
  double rollback = 0;  // of the governor: then all others are 0, except the potential

  double total() const { return progress + rent + stage + potential + action + terminal + rollback; }
};

// What is rewarded: an action in the state after an epoch.
struct RewardedState {
  const TrainingSignals& signals;
  const GrowthReport& report;
  const std::optional<SeedReport>& before;  // the seed when the decision before was made; none before the first
  const GrowthScale& scale;
  GrowthActionKind action = GrowthActionKind::kWait;
  bool by_contribution = false;  // a seed whose contribution is known has the potential of ContributionReward

  bool is_last() const { return signals.epoch == scale.max_epochs; }
};

// Of a task, for the reward by losses.
struct LossRewardScale {
  double baseline_loss = 2.3, target_loss = 0.3, delta_deviation = 0.05;
  double rent = 0.05;
};

// phi0 of the stages UNKNOWN to FOSSILIZED; 0 of those after these.
double StagePotential(models::Stage stage);

// By changes of accuracy: 2 acc_delta, rent, a bonus of the stage, potential (weight 0.3; half a point per epoch in a
// stage, at most 3), the action, and 0.05 of the final accuracy.
GrowthReward ShapedReward(const RewardedState& state);

// By what the seed contributes: c is the accuracy with it minus that without. Where c is not known, it earns nothing.
// The potential has three tenths of a point per epoch in a stage, at most 2.
GrowthReward ContributionReward(const RewardedState& state);

// By changes of the loss, in standard deviations of a task's; a rise counts half.
GrowthReward LossReward(const RewardedState& state, const LossRewardScale& task);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_REWARD_H_
