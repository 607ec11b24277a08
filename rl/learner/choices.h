#ifndef RL_LEARNER_CHOICES_H_
#define RL_LEARNER_CHOICES_H_

// Turns the names in a configuration into the components that they select.

#include "absl/status/statusor.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {

// The options of a run's components.
struct Choices {
  AlgorithmConfig algorithm;  // with the values that the configuration sets itself
  ScheduleOptions schedule;
};
// InvalidArgument for an unknown name.
absl::StatusOr<Choices> ResolveChoices(const Config& config);

// Whether a checkpoint, which contains only weights and the optimizer's state, is enough to resume from: the reference
// model must be the initial one, and schedules and evaluations must have no state.
bool CheckpointsAreStates(const Config& config, const Choices& choices);

}  // namespace reprise::rl

#endif  // RL_LEARNER_CHOICES_H_
