#ifndef RL_WORKLOADS_COMPLETIONS_COMPLETION_METRICS_H_
#define RL_WORKLOADS_COMPLETIONS_COMPLETION_METRICS_H_

#include <cstdint>

#include "rl/record/step_record.h"

namespace reprise::rl {

struct CompletionMetricOptions {
  int64_t group = 1;  // number of adjacent episodes that are compared with each other
  bool counts_tool_calls = false;
  bool drops_invalid = false;  // invalid episodes are dropped
};

// Appends the metrics of the lengths, turns, tool calls and actions of a step's episodes. docs/algorithms.md defines
// each.
void AddCompletionMetrics(const StepRecord& record, const CompletionMetricOptions& options, Metrics* metrics);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_COMPLETION_METRICS_H_
