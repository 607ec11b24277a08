#ifndef MODELS_DECODER_ACTIVATIONS_H_
#define MODELS_DECODER_ACTIVATIONS_H_

// What a forward pass keeps for its backward pass: allocated for a number of rows, and reused from batch to batch.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "kernels/attention/attention.h"
#include "models/decoder/batch.h"
#include "models/decoder/config.h"
#include "models/decoder/layer.h"

namespace reprise::models {

class Activations {
 public:
  // `recompute`, for training, keeps of each layer only its input, its routing and the gradients of its keys and
  // values; Backward recomputes the rest, layer by layer, to the same bits (activation checkpointing).
  Activations(const DecoderConfig& config, bool training, bool recompute = false);

  // Allocates memory for a batch. Memory only grows; old contents are lost.
  void Prepare(const PackedBatch& batch);

  const DecoderConfig& config() const { return config_; }
  const PackedBatch& batch() const { return batch_; }
  int64_t rows() const { return batch_.rows(); }

  bool recompute() const { return recompute_; }

  // The rows of a layer. When sampling or recomputing, all layers share one set of rows except for x, and when
  // recomputing also except for the routing; the shared set holds the layer that was computed last.
  const LayerRows& layer(int64_t index) const { return layers_[index]; }
  const kernels::Rows& x_after(int64_t index) const;  // the residual stream after layer `index`
  float* final_inverse_rms_T() const { return final_inverse_rms_T_; }
  const kernels::Rows& hidden_TD() const { return hidden_TD_; }  // the decoder's output, after the final norm

  // In training: the largest attention logit, q k / sqrt(width), of each layer and query head among this batch's rows,
  // [layers][heads], of the layers that were computed since Prepare; else -infinity. Depends on no division of work.
  absl::Span<const float> largest_logit_LH() const { return largest_logit_LH_; }
  void NoteLargestLogits(int64_t index);  // of layer `index`, whose statistics_HT2 are new

  // The gradients of keys and values of layer `index`, [T, KV] each. They accumulate over completions, including those
  // of later batches when this batch is the prompt of a group that is divided into batches. Zero after Prepare.
  const kernels::KeyGradients& key_gradients(int64_t index) const { return gradients_[index]; }

  // Returns the number of floats that a row of activations takes: the memory formula of `validate`.
  static int64_t FloatsPerRow(const DecoderConfig& config, bool training, bool recompute = false);
  // Returns the bytes that are allocated now.
  int64_t bytes() const;

 private:
  const DecoderConfig config_;
  const bool training_, recompute_;
  PackedBatch batch_;
  Tensor floats_;
  std::vector<int32_t> experts_;
  std::vector<kernels::ExpertPlan> plans_;
  std::vector<LayerRows> layers_;
  std::vector<kernels::KeyGradients> gradients_;
  std::vector<float> largest_logit_LH_;
  kernels::Rows last_x_TD_, hidden_TD_;
  float* final_inverse_rms_T_ = nullptr;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_ACTIVATIONS_H_
