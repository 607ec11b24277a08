#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_METRICS_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_METRICS_H_

// What is measured of growing networks: in each step of training, and in evaluations.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/workloads/morphogenesis/growth_episode.h"

namespace reprise::rl {

// Appends the metrics of a step of training, docs/algorithms.md.
void AddGrowthMetrics(const GrowthRules& rules, const StepRecord& record, Metrics* metrics);

// The scores of one held-out host under each controller. Plain data: sent between ranks as bytes.
struct HeldOutGrowth {
  GrowthScore greedy, heuristic, random;
  GrowthScore sampled;    // means over the samples
  int64_t correct = 0;    // samples whose return is greater than that of the heuristic controller
  int64_t decisions = 0;  // of all samples
};

// sampled_G: the scores of the samples; may be empty.
HeldOutGrowth SummarizeHeldOut(const GrowthScore& greedy, const GrowthScore& heuristic, const GrowthScore& random,
                               absl::Span<const GrowthScore> sampled_G, int64_t epochs);

// Returns the metrics of GrowthScoreNames (rl/workloads/morphogenesis/section/morphogenesis_section.h), and those of
// ScoreMetrics, where an episode is correct if its return is greater than that of the heuristic controller with the
// same host. Sorted by name.
Metrics HeldOutMetrics(absl::Span<const HeldOutGrowth> held_out_P, int64_t samples);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_METRICS_H_
