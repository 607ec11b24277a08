#ifndef RL_LEARNER_STEP_SCHEDULES_H_
#define RL_LEARNER_STEP_SCHEDULES_H_

// What a training step takes from the steps before it, and leaves to the next one.

#include <cstdint>

#include "absl/status/status.h"
#include "rl/learner/schedule_state.h"
#include "rl/learner/step_tools.h"

namespace reprise::rl {

// Returns the schedules before the first training step.
ScheduleState InitialSchedules(const AlgorithmRow& algorithm);

// Returns the plan of training step `number`: the run's algorithm with the schedules' values before it. Pure.
StepPlan PlanOf(const StepTools& tools, const ScheduleState& schedules, int64_t number);

// Advances the schedules and the reference model after the updates of a training step. Collective; the result is the
// same on any number of ranks.
absl::Status AdvanceSchedules(const StepBatch& batch, const StepAdvantages& advantages, const StepUpdates& updates,
                              StepTools* tools, ScheduleState* schedules);

}  // namespace reprise::rl

#endif  // RL_LEARNER_STEP_SCHEDULES_H_
