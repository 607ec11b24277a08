#ifndef RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_COST_H_
#define RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_COST_H_

// Estimates the cost of a run of growing networks, with the formulas of docs/performance.md. What seeds add depends on
// the controller and is left out.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/morphogenesis/life_cycle/topology.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"

namespace reprise::rl {

// Of a host's products, counting multiplications and additions, and of its memory.
struct HostCost {
  double forward = 0, backward = 0;  // of an example: an image, or a sequence
  int64_t parameters = 0;
  int64_t activations = 0;  // floats of a batch in training, with gradients on their way
  int64_t example = 0;      // floats of an example's input and targets
};

// Pure.
HostCost CostOfHost(const models::HostShape& shape, int64_t batch_size);

// Estimates a run on `ranks` ranks. config passes CheckConfig for them; threads >= 1. Errors: those of
// MakeGrowthLayout.
absl::StatusOr<RunCost> EstimateGrowth(const Config& config, int64_t ranks, int64_t threads);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_KIND_GROWTH_COST_H_
