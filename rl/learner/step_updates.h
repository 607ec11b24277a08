#ifndef RL_LEARNER_STEP_UPDATES_H_
#define RL_LEARNER_STEP_UPDATES_H_

// The updates of a step: they turn its losses into new weights.

#include "absl/status/statusor.h"
#include "rl/learner/objective.h"
#include "rl/learner/step_tools.h"

namespace reprise::rl {

// Several updates from the completions of one step (PPO; Schulman et al., 2017, algorithm 1): the old log-probabilities
// of all updates are those of the policy that sampled. Collective. Internal, before any weight of the failing update is
// changed, for a number that is not within bounds, a gradient of 0 everywhere although completions have advantages, or
// a learning rate that is not finite; the errors of Updater::Apply.
absl::StatusOr<StepUpdates> UpdateByMinibatches(const StepPlan& plan, const StepAdvantages& advantages,
                                                const Objective& objective, const StepBatch& batch, StepTools* tools);

// One update from the answers of a warm-up step. Errors as above.
absl::StatusOr<StepUpdates> UpdateByAnswers(const Objective& objective, const StepBatch& batch, StepTools* tools);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_UPDATES_H_
