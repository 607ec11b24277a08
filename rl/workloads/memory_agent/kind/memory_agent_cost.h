#ifndef RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_COST_H_
#define RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_COST_H_

// Estimates the cost of a run of the memory agent, with the formulas of docs/performance.md. The work of a step follows
// from the rows that the encoder reads (expected_rows.h) and from which passes the algorithm makes over them.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"
#include "rl/workloads/memory_agent/kind/expected_rows.h"

namespace reprise::rl {

// The products of the layers alone: the heads read one row for each state, and take less than a hundredth. `sampling`
// is drawing, with the passes that count the experts' tokens. Pure.
StepOperations EstimateEncoderOperations(const Config& config, const models::DecoderConfig& encoder,
                                         const AlgorithmConfig& algorithm, const ExpectedRows& rows);

// layout: of the policy. Pure.
MemoryEstimate EstimateEncoderMemory(const Config& config, const models::DecoderConfig& encoder,
                                     const models::DecoderLayout& layout, const ExpectedRows& rows, int64_t ranks,
                                     int64_t threads);

// Estimates a run on `ranks` ranks. config passes CheckConfig for them; threads >= 1. Errors: those of the model's
// files; InvalidArgument for a state that cannot be encoded.
absl::StatusOr<RunCost> EstimateMemoryAgent(const Config& config, int64_t ranks, int64_t threads);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_KIND_MEMORY_AGENT_COST_H_
