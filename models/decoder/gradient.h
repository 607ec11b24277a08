#ifndef MODELS_DECODER_GRADIENT_H_
#define MODELS_DECODER_GRADIENT_H_

// The gradient of one logical shard: for every parameter a chain over the shard's rows in canonical order, continued
// from batch to batch (kernels/products: AccumulateWeightGradient).

#include <cstdint>
#include <vector>

#include "kernels/contract/operands.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

struct ShardGradient {
  float* total = nullptr;               // layout.total floats: sums of finished segments; finally the gradient
  float* open = nullptr;                // the same size: chains of unfinished segments; null if the shard is one batch
  int64_t rows = 0;                     // rows of the shard so far
  int64_t scored_rows = 0;              // rows of the shard that entered the lm-head so far
  std::vector<int64_t> expert_rows_LE;  // rows of each expert so far, [layer * experts + expert]
  // With tied embeddings the lm-head's chains use the tensor's total; the embedding's sum is held here and added last.
  std::vector<float> tied_embedding;

  float* TotalOf(const ParameterSpec& spec) const { return total + spec.offset; }
};

// Prepares `gradient` for a new shard: sets counts and the embedding's gradient to 0 (the first batch assigns the
// rest). The caller owns `total` and `open`.
void StartShard(const DecoderConfig& config, const DecoderLayout& layout, float* total, float* open,
                ShardGradient* gradient);

// Receives each tensor's shard gradient the moment it is final, so that it can be exchanged or hashed while earlier
// layers are still being computed. Called once per tensor, in backward order, on the thread that runs Backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // `spec` is the index into DecoderLayout::specs; the gradient is gradient.TotalOf(specs[spec]).
  virtual void Finished(int spec, const ShardGradient& gradient) = 0;
};

// Where a backward pass of one batch adds its gradients.
struct GradientTarget {
  ShardGradient* gradient = nullptr;
  GradientSink* sink = nullptr;  // called when a tensor is final; may be null
  bool last = true;              // it is the shard's last batch: after it each tensor's gradient is final

  // `first_row`: how many rows of the shard entered the tensor before this batch.
  kernels::GradientChains ChainsOf(const ParameterSpec& spec, int64_t first_row) const {
    return kernels::GradientChains{gradient->total, gradient->open, first_row, last}.From(spec.offset);
  }
  // The same for tensor `spec` of the layout: of a frozen one (-1), chains that are not computed.
  kernels::GradientChains ChainsOf(const DecoderLayout& layout, int spec, int64_t first_row) const {
    if (spec < 0) return {nullptr, nullptr, first_row, last};
    return ChainsOf(layout.specs[spec], first_row);
  }
  // Notifies the sink of the shard's last batch, unless the tensor is frozen.
  void Finish(int spec) const {
    if (last && sink != nullptr && spec >= 0) sink->Finished(spec, *gradient);
  }
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_GRADIENT_H_
