#ifndef RL_METRICS_EPISODE_METRICS_H_
#define RL_METRICS_EPISODE_METRICS_H_

// Computes the metrics that algorithm.episode_metrics adds to a step: those of episode-level RLOO, over whole episodes.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/advantage/reward_table.h"
#include "rl/algorithm/algorithm.h"
#include "rl/gradient/step_loss.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

struct EpisodeMetricInputs {
  const AlgorithmConfig& algorithm;
  const std::vector<uint8_t>& invalid_N;  // by episode: 1 where it is invalid and does not count
  double learning_rate = 0;
  int64_t num_mini_batches = 1;  // of an iteration
};

// Returns the metrics by name; docs/algorithms.md defines each. outcomes: of the last update that saw each episode.
Metrics EpisodeMetrics(const EpisodeMetricInputs& inputs, const StepRecord& record,
                       absl::Span<const EpisodeOutcome> outcomes);

// Returns the mean number of learned tokens over the episodes that count; 0 without any.
double MeanActionTokens(const StepRecord& record, const std::vector<uint8_t>& invalid_N);

// The metrics of a batch's rewards, under TRL's names.
struct RewardMetrics {
  double reward = 0.0;            // mean over groups of the group's mean weighted reward
  double reward_std = 0.0;        // Bessel-corrected deviation of the weighted rewards of the batch; 0 for one
  double reward_group_std = 0.0;  // mean over groups of the group's own; 0 where G = 1
  // Share of groups without signal: max == min exactly (TRL: a deviation within 1e-8 of 0).
  double frac_reward_zero_std = 0.0;
  std::vector<double> mean_F;  // "rewards/<function>/mean", over samples
  std::vector<double> std_F;   // "rewards/<function>/std"
  int64_t num_unscorable = 0;  // samples that no function could score
};

// Computes the metrics. Groups without any scorable sample are left out of `reward` and `reward_group_std`; a mean over
// nothing is NaN.
RewardMetrics SummarizeRewards(const RewardTable& table);

}  // namespace reprise::rl

#endif  // RL_METRICS_EPISODE_METRICS_H_
