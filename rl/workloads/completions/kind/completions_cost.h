#ifndef RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_COST_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_COST_H_

// Estimates the cost of a run of completions. The work of a step follows from shapes alone, with the formulas of
// docs/performance.md.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"

namespace reprise::rl {

// The sequences of a step: means where they differ.
struct SequenceShape {
  double prompts = 0, generations = 0;              // P, G
  double prompt_tokens = 0, completion_tokens = 0;  // p, T
};

// `passes`: how often updates compute each completion. recompute: execution.activation_checkpointing.
StepOperations EstimateOperations(const models::DecoderConfig& decoder, const SequenceShape& shape, double passes,
                                  bool recompute);

// Returns how often the updates of a step compute a completion of the greatest length: once an iteration, except that
// minibatches_of decisions compute it in every minibatch that has one of its tokens. The mean over deals.
double PassesOfStep(const Config& config, int64_t num_iterations);

// Estimates a run on `ranks` ranks. config passes CheckConfig for them; threads >= 1. Errors: those of the model's and
// the data's files.
absl::StatusOr<RunCost> EstimateCompletions(const Config& config, int64_t ranks, int64_t threads);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_COMPLETIONS_COST_H_
