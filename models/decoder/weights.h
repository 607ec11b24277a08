#ifndef MODELS_DECODER_WEIGHTS_H_
#define MODELS_DECODER_WEIGHTS_H_

// The matrices of a decoder, packed for the kernels. A copy: packed anew after every optimizer step.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "kernels/experts/experts.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// Pointers into the packed copy, and (norms) into the flat parameters, which must outlive it.
struct LayerWeights {
  const float *input_norm, *q_norm, *k_norm, *post_norm;
  const float *qkv, *qkv_transposed;  // one matrix [D + 2 * KV, D]: the rows of q, then k, then v
  const float *o, *o_transposed;
  const float *router, *router_transposed;
  std::vector<kernels::ExpertWeights> expert_E;
};

class PackedWeights {
 public:
  // `flat` holds the parameters in `layout`'s order and must outlive this. Nothing is packed yet. Without `training` no
  // transposed copies are held (their pointers are null).
  PackedWeights(const DecoderConfig& config, const ParameterLayout& layout, const float* flat, bool training);

  // Packs all matrices again. Deterministic; `pool`'s threads share the work.
  void Refresh(ThreadPool& pool);

  const DecoderConfig& config() const { return config_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  const float* embedding() const { return embedding_; }
  const float* final_norm() const { return final_norm_; }
  const float* lm_head() const { return lm_head_; }
  const float* lm_head_transposed() const { return lm_head_transposed_; }

 private:
  // One packed matrix: the rows of its parts, stacked.
  struct Matrix {
    std::vector<const float*> parts;  // row-major [part_rows, columns]
    std::vector<int64_t> part_rows;
    int64_t columns = 0;
    float* packed = nullptr;
    float* transposed = nullptr;
  };
  // Registers a matrix and returns its index; memory is assigned once all are known.
  size_t Add(const std::vector<int>& specs);
  void Pack(const Matrix& matrix) const;

  const DecoderConfig config_;
  const ParameterLayout& layout_;
  const float* const flat_;
  const bool training_;
  std::vector<Matrix> matrices_;
  std::unique_ptr<Tensor> storage_;
  std::vector<LayerWeights> layers_;
  const float *embedding_, *final_norm_, *lm_head_, *lm_head_transposed_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_WEIGHTS_H_
