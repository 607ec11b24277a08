#ifndef PIPELINES_SWEEPS_SCORE_METRIC_H_
#define PIPELINES_SWEEPS_SCORE_METRIC_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rl/config/config.h"

namespace reprise {

// Checks, before any trial has run, that one of them can have the metric that they are to be judged by. InvalidArgument
// for a name that no metric has, with the nearest one, and for a metric of another workload or of evaluations that none
// of the trials makes. Other conditions of a metric (MetricDefinition::when) are not judged. Pure.
absl::Status CheckScoreMetric(absl::string_view name, const std::vector<const rl::Config*>& configs);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SCORE_METRIC_H_
