#ifndef PIPELINES_SWEEPS_STORED_PLAN_H_
#define PIPELINES_SWEEPS_STORED_PLAN_H_

// What a sweep's folder keeps of its plan, plan.json: enough to judge its trials without the sweep's file, and the
// identity of the sweep.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipelines/sweeps/sweep_file.h"
#include "pipelines/sweeps/sweep_plan.h"

namespace reprise {

struct PlannedTrial {
  std::string name, arm, problem;  // as in Trial
  std::string config_sha256;       // of the configuration as its run stores it, without paths; hexadecimal
  int64_t base = 0;                // as in Trial
  int64_t seed = 0;
  std::vector<std::string> settings;  // as in Trial
};

struct StoredPlan {
  std::vector<std::string> axes;
  CompareOptions compare;
  std::vector<PlannedTrial> trials;
};

// Pure.
StoredPlan StoredPlanOf(const SweepPlan& plan);

// Returns JSON, a line for each trial. It depends on no path but those that are varied. Pure.
std::string PlanText(const StoredPlan& plan);

// The inverse. DataLoss for any text that PlanText does not write: names of trials are names of folders, and are
// checked to be nothing else. Pure.
absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_STORED_PLAN_H_
