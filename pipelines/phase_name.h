#ifndef PIPELINES_PHASE_NAME_H_
#define PIPELINES_PHASE_NAME_H_

#include "rl/learner/step_record.h"

namespace reprise {

// A phase in JSON.
inline const char* PhaseName(rl::Phase phase) { return phase == rl::Phase::kWarmUp ? "warm_up" : "training"; }

// For people.
inline const char* PhaseTitle(rl::Phase phase) { return phase == rl::Phase::kWarmUp ? "warm-up" : "training"; }

}  // namespace reprise

#endif  // PIPELINES_PHASE_NAME_H_
