#ifndef PIPELINES_STORED_PHASE_NAME_H_
#define PIPELINES_STORED_PHASE_NAME_H_

#include "rl/record/step_tables.h"

namespace reprise {

// The name of a phase in JSON.
inline const char* PhaseName(rl::Phase phase) { return phase == rl::Phase::kSft ? "sft" : "training"; }

// The name of a phase in text.
inline const char* PhaseTitle(rl::Phase phase) { return phase == rl::Phase::kSft ? "SFT" : "training"; }

}  // namespace reprise

#endif  // PIPELINES_STORED_PHASE_NAME_H_
