#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_TIMELINE_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_TIMELINE_H_

#include <string>

#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/morphogenesis/growth_episode.h"

namespace reprise::rl {

// Returns an episode for people: a line for each epoch, with what was measured, the seed, the decision and what it
// earned, and below it what happened: stages, gates, rollbacks. Errors of ComputeOutcome.
absl::StatusOr<std::string> FormatTimeline(const GrowthRules& rules, const PlayedGrowth& played);

// Returns the timelines of a stored step. DataLoss for tables that no run writes.
absl::StatusOr<std::string> DescribeGrowthStep(const Config& config, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_TIMELINE_H_
