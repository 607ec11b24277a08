#ifndef PIPELINES_SWEEPS_SWEEP_EFFECTS_H_
#define PIPELINES_SWEEPS_SWEEP_EFFECTS_H_

#include <vector>

#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

// Returns the effects of single keys, from the table's plan, outcomes and scores. Takes time in proportion to the pairs
// of trials that are compared. Pure but for marks of activity.
std::vector<EffectRow> ComputeEffects(const SweepTable& table);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_EFFECTS_H_
