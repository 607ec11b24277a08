#ifndef RL_LEARNER_STEP_DRAW_H_
#define RL_LEARNER_STEP_DRAW_H_

#include "absl/status/statusor.h"
#include "rl/learner/step_tools.h"

namespace reprise::rl {

// Draws this rank's tasks and their episodes, and counts the whole step. Collective. Errors: those of Workload::Draw.
absl::StatusOr<StepBatch> DrawStep(const StepShape& shape, StepTools* tools);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_DRAW_H_
