#ifndef RL_WORKLOADS_COMPLETIONS_KIND_MEMORY_ESTIMATE_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_MEMORY_ESTIMATE_H_

// Estimates the memory of the rank that needs the most, item by item, with the formulas of the components that hold it.

#include <cstdint>

#include "models/decoder/config.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"
#include "rl/workloads/completions/kind/longest_texts.h"

namespace reprise::rl {

// Estimates for completions of full length, without the artifact's buffers: within a tenth of measurements where
// weights dominate. With run.reduction "fast" the items include only LibTorch's packed copies; not_predicted describes
// its remaining memory. config passes CheckConfig for `ranks`, decoder passes ValidateDecoderConfig; threads >= 1.
// Pure.
MemoryEstimate EstimateMemory(const Config& config, const models::DecoderConfig& decoder, int64_t ranks,
                              int64_t threads, const LongestTexts& longest);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_MEMORY_ESTIMATE_H_
