#ifndef RL_COMPLETIONS_ACTION_METRICS_H_
#define RL_COMPLETIONS_ACTION_METRICS_H_

#include <cstdint>

#include "rl/record/step_record.h"

namespace reprise::rl {

// Returns the metrics of the checks of a step's actions, by name; empty where actions are not checked.
// docs/algorithms.md defines each. group_size: number of adjacent episodes that are compared with each other.
// drops_invalid: whether the run drops invalid episodes.
Metrics ActionMetrics(const StepRecord& record, int64_t group_size, bool drops_invalid);

}  // namespace reprise::rl

#endif  // RL_COMPLETIONS_ACTION_METRICS_H_
