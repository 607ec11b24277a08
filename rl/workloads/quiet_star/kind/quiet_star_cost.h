#ifndef RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_COST_H_
#define RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_COST_H_

// Estimates the cost of a run of a model that thinks, as if every text were of the greatest length and had thoughts of
// the greatest length after every token.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/quiet_star/memory.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"

namespace reprise::rl {

// Returns the sizes of `texts` texts. Pure, as all functions here.
models::ThoughtSizes MakeThoughtSizes(const Config& config, int64_t texts);

// The products of the layers: the heads take less than a hundredth of them.
StepOperations EstimateThoughtOperations(const Config& config, const models::DecoderConfig& decoder);

// layout: of the policy.
MemoryEstimate EstimateThoughtMemory(const Config& config, const models::DecoderConfig& decoder,
                                     const models::DecoderLayout& layout, int64_t ranks, int64_t threads);

// Estimates a run on `ranks` ranks. config passes CheckConfig for them; threads >= 1. Errors: those of the model's
// files and of the heads' shape.
absl::StatusOr<RunCost> EstimateQuietStar(const Config& config, int64_t ranks, int64_t threads);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_KIND_QUIET_STAR_COST_H_
