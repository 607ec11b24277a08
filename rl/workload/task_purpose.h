#ifndef RL_WORKLOAD_TASK_PURPOSE_H_
#define RL_WORKLOAD_TASK_PURPOSE_H_

#include "core/random/draw.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns what the tasks of a phase's steps are drawn with.
inline Purpose TaskPurpose(Phase phase) { return phase == Phase::kSft ? Purpose::kSftTask : Purpose::kTask; }

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_TASK_PURPOSE_H_
