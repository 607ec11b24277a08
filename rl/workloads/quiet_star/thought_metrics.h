#ifndef RL_WORKLOADS_QUIET_STAR_THOUGHT_METRICS_H_
#define RL_WORKLOADS_QUIET_STAR_THOUGHT_METRICS_H_

#include "absl/strings/string_view.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// Appends the metrics of a training step's thoughts: thoughts/mean_length, thoughts/positions (of a text),
// thoughts/reward (mean over thoughts), thoughts/rewarded (share whose reward is above 0), thoughts/coherence (the
// geometric mean of a thought's probabilities: mean). *metrics: those of the learner and the policy.
void AddThoughtMetrics(const StepRecord& record, Metrics* metrics);

// Adds to `loss` and `loss/total`, which are the algorithm's alone, the cross-entropies of the texts, text_nll and
// mixed_nll, each times its weight in the loss.
void AddTextLosses(const QuietStarConfig& config, Metrics* metrics);

// Appends the thirteen metrics of the published trainer, under its names, each defined by one of *metrics or, where the
// algorithm has none, 0. policy_loss: `loss` before AddTextLosses. Departure: the published trainer reports every tenth
// episode.
void AddPaperMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, double policy_loss, Metrics* metrics);

// Returns a metric, 0 where there is none of that name.
double ValueOf(const Metrics& metrics, absl::string_view name);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_THOUGHT_METRICS_H_
