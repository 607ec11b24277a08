#ifndef RL_METRICS_STEP_METRICS_H_
#define RL_METRICS_STEP_METRICS_H_

// Computes a step's metrics, under TRL's names, from the gathered data of all ranks: on one rank, in double, in fixed
// trees over episodes. docs/algorithms.md defines each.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/gradient/step_loss.h"
#include "rl/record/step_record.h"
#include "rl/schedule/loader.h"
#include "rl/value/value_loss.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// What a step's metrics are computed from, besides its record and the outcomes of its updates.
struct MetricInputs {
  const Config& config;
  const AlgorithmConfig& algorithm;  // with the step's weights of the divergence and of the entropy bonus
  const RewardColumns& rewards;
  bool may_lack_decisions = false;  // Workload::may_lack_decisions
  double learning_rate = 0, grad_norm = 0;
  int64_t num_mini_batches = 1;                      // training: of an iteration
  int64_t num_updates = 0;                           // since the start of the phase
  int64_t num_tokens = 0;                            // of prompts and completions, since the start of the phase
  int64_t iterations = 0;                            // training: that made an update
  double mean_prompt_baseline = 0;                   // over the prompts that have one
  ValueSummary values = {};                          // where a value function is trained
  std::optional<LoaderStats> loader = std::nullopt;  // reported where it is set
  std::vector<uint8_t> masked_N = {};                // training: by episode of the step, whether no token counts
  std::vector<uint8_t> invalid_N = {};               // likewise, whether it is invalid (EpisodeRecord::is_invalid)
};

// Returns the metrics, sorted by name, without those of the workload's own (Workload::AddMetrics). record: tasks and
// episodes of the whole step; outcomes of the last update that saw each episode, first_outcomes of the step's first
// (the same when there was one; zeros for episodes that it did not see), both in the order of the episodes.
Metrics TrainingMetrics(const MetricInputs& inputs, const StepRecord& record,
                        const std::vector<EpisodeOutcome>& first_outcomes, const std::vector<EpisodeOutcome>& outcomes);

// Returns the metrics of a supervised step.
Metrics SftMetrics(const MetricInputs& inputs, const std::vector<EpisodeOutcome>& outcomes);

}  // namespace reprise::rl

#endif  // RL_METRICS_STEP_METRICS_H_
