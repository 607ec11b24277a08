#ifndef MODELS_DECODER_GRADIENT_H_
#define MODELS_DECODER_GRADIENT_H_

// The gradient of one logical shard: for every parameter a chain over the shard's rows in canonical order, continued
// from batch to batch (kernels/products: AccumulateWeightGradient).

#include <cstdint>
#include <vector>

#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

struct ShardGradient {
  float* total = nullptr;               // layout.total floats: the sums of finished segments, in the end the gradient
  float* open = nullptr;                // the same size: chains of unfinished segments; null if the shard is one batch
  int64_t rows = 0;                     // rows of the shard so far
  int64_t scored_rows = 0;              // rows of the shard that entered the lm-head so far
  std::vector<int64_t> expert_rows_LE;  // rows of each expert so far, [layer * experts + expert]
  // With tied embeddings the lm-head's chains use the tensor's total; the embedding's sum waits here and is added last.
  std::vector<float> tied_embedding;

  float* TotalOf(const ParameterSpec& spec) const { return total + spec.offset; }
  float* OpenOf(const ParameterSpec& spec) const { return open == nullptr ? nullptr : open + spec.offset; }
};

// Readies `gradient` for a new shard: counts 0, the embedding's gradient 0 (all else is assigned by the first batch).
// `total` and `open` are the caller's memory.
void StartShard(const DecoderConfig& config, const ParameterLayout& layout, float* total, float* open,
                ShardGradient* gradient);

// Hears of each tensor's shard gradient the moment it is final, so that it can be exchanged or hashed while earlier
// layers still run. Called from the thread that runs Backward, once a tensor, in backward order.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // `spec` is the index into ParameterLayout::specs; the gradient is gradient.TotalOf(specs[spec]).
  virtual void Finished(int spec, const ShardGradient& gradient) = 0;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_GRADIENT_H_
