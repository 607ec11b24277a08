#ifndef PIPELINES_SWEEPS_PLAN_CHECK_H_
#define PIPELINES_SWEEPS_PLAN_CHECK_H_

#include <string>
#include <vector>

#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/trial_outcome.h"

namespace reprise {

// Describes the first thing that a plan says and that is not so: "trial 03-rloo-seed2: the plan's algorithm.name is
// \"rloo\", its run has \"grpo\"". "" if there is none. What a trial's run decides is compared with the run: settings,
// seed, problem, and which trials are of one variant. The names follow from the settings, and trials of one variant of
// the sweep's file are all combinations of what varies, in order, and begin with the same configuration. One outcome
// for each trial (checked). Pure.
std::string PlanDifference(const StoredPlan& plan, const std::vector<TrialOutcome>& outcomes);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_PLAN_CHECK_H_
