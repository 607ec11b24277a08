#ifndef RL_METRICS_EPISODE_METRICS_H_
#define RL_METRICS_EPISODE_METRICS_H_

// Computes the metrics that algorithm.episode_metrics adds to a step: those of episode-level RLOO, over whole episodes.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rl/algorithm/algorithm.h"
#include "rl/gradient/step_loss.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

struct EpisodeMetricInputs {
  const AlgorithmRow& algorithm;
  const std::vector<uint8_t>& invalid_N;  // by episode: 1 where it is invalid and does not count
  double learning_rate = 0;
};

// Returns the metrics by name; docs/algorithms.md defines each. outcomes: of the last update that saw each episode.
Metrics EpisodeMetrics(const EpisodeMetricInputs& inputs, const StepRecord& record,
                       absl::Span<const EpisodeOutcome> outcomes);

// Returns the mean number of learned tokens over the episodes that count; 0 without any.
double MeanActionTokens(const StepRecord& record, const std::vector<uint8_t>& invalid_N);

}  // namespace reprise::rl

#endif  // RL_METRICS_EPISODE_METRICS_H_
