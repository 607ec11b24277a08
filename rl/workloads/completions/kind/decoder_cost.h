#ifndef RL_WORKLOADS_COMPLETIONS_KIND_DECODER_COST_H_
#define RL_WORKLOADS_COMPLETIONS_KIND_DECODER_COST_H_

// The parts of an estimate that depend on the decoder and on how a step's gradient is computed, but not on what the
// decoder reads: other workloads with a decoder have them too.

#include <cstdint>

#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "rl/config/config.h"
#include "rl/workload/run_cost.h"
#include "rl/workloads/completions/kind/gradient_shares.h"

namespace reprise::rl {

inline constexpr int64_t kFloatBytes = 4;

// Returns the operations of a layer's products for one row: queries, keys and values, output, router, the row's
// experts, and adapters. Pure, as all functions here.
double OperationsOfLayer(const models::DecoderConfig& decoder);

// Returns those of its backward pass: the gradients of inputs and of weights. Frozen weights have no gradient, and of
// adapters the first product is computed again.
double BackwardOperationsOfLayer(const models::DecoderConfig& decoder);

// Returns the floats that the backward pass of the layers needs for `rows` rows in addition to their activations.
int64_t BackwardFloats(const models::DecoderConfig& decoder, int64_t rows);

// Returns the floats that adapters need in a forward and a backward pass for `rows` rows; 0 without adapters.
int64_t AdapterScratchFloats(const models::DecoderConfig& decoder, int64_t rows);

// Returns an estimate of the parameters, their gradients and moments, and of what ranks exchange. Its symbols are W, P,
// L, b, O, x and T.
MemoryEstimate EstimateParameters(const Config& config, const models::DecoderConfig& decoder,
                                  const models::DecoderLayout& layout, const GradientShares& shares);

// Adds the whole copy of the frozen model into which adapters are merged when a run ends, as far as it exceeds what
// training has freed by then. Nothing without adapters. All other items must have been added.
void AddMergedModel(const Config& config, const models::DecoderConfig& decoder, MemoryEstimate* estimate);

// Adds a checkpoint, while it is written, and the program.
void AddProgram(const Config& config, const models::DecoderLayout& layout, int64_t ranks, MemoryEstimate* estimate);

// Adds the weights beside the policy's: a reference, those of the best evaluation, LibTorch's packed copies.
void AddCopies(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout,
               MemoryEstimate* estimate);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_KIND_DECODER_COST_H_
