#ifndef MODELS_DECODER_WEIGHTS_H_
#define MODELS_DECODER_WEIGHTS_H_

// The matrices of a decoder, packed for the kernels. A copy: packed anew after every optimizer step. With bf16_weights
// the copy of every matrix, embeddings included, holds bf16 (rounded to nearest, ties to even) for forward and backward
// alike; routers, on whose small differences the choice of experts hangs, and gains of norms stay floats, and so do the
// parameters that optimizers step.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "kernels/experts/experts.h"
#include "kernels/products/packed_matrix.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// Pointers into the packed copy, and (norms) into the flat parameters, which must outlive it.
struct LayerWeights {
  const float *input_norm, *q_norm, *k_norm, *post_norm;
  kernels::PackedMatrix qkv, qkv_transposed;  // one matrix [D + 2 * KV, D]: the rows of q, then k, then v
  kernels::PackedMatrix o, o_transposed;
  kernels::PackedMatrix router, router_transposed;
  std::vector<kernels::ExpertWeights> expert_E;
};

class PackedWeights {
 public:
  // `flat` holds the parameters in `layout`'s order; it must outlive this. Nothing is packed yet. Without `training` no
  // transposed copies are held (they are null).
  PackedWeights(const DecoderConfig& config, const ParameterLayout& layout, const float* flat, bool training);

  // Packs all matrices again. Deterministic; `pool`'s threads share the work.
  void Refresh(ThreadPool& pool);

  const DecoderConfig& config() const { return config_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  // The embeddings of tokens, y_TD.
  void Embed(int64_t rows, const int32_t* token_T, float* y_TD) const;
  const float* final_norm() const { return final_norm_; }
  const kernels::PackedMatrix& lm_head() const { return lm_head_; }
  const kernels::PackedMatrix& lm_head_transposed() const { return lm_head_transposed_; }

  // Where the first tensor begins, in the flat parameters, of which the copy is not what Refresh makes; nothing if
  // there is none. For finding the cause of a failure: takes the time of a Refresh and the memory of the largest
  // matrix.
  std::optional<int64_t> FirstDamage() const;

  // Bytes that the copy takes.
  static int64_t Bytes(const DecoderConfig& config, const ParameterLayout& layout, bool training);

 private:
  // One packed matrix: the rows of its parts, stacked.
  struct Matrix {
    std::vector<int64_t> parts;  // offsets in the flat parameters, row-major [part_rows, columns] each
    std::vector<int64_t> part_rows;
    int64_t rows = 0, columns = 0;
    bool bf16 = false;
    float* packed = nullptr;  // bf16 lies in memory for floats
    float* transposed = nullptr;

    int64_t Floats() const;
    int64_t TransposedFloats() const;
    kernels::PackedMatrix View(float* memory) const;
  };
  // Of all layers, then the lm-head, in the order in which the forward pass reads them; without memory.
  static std::vector<Matrix> ListMatrices(const DecoderConfig& config, const ParameterLayout& layout);
  void PlaceMatrices();
  void Pack(const Matrix& matrix) const;
  void PackEmbedding(int64_t first, int64_t last);
  static int64_t PartOfRow(const Matrix& matrix, int64_t row);

  const DecoderConfig config_;
  const float* const flat_;
  const bool training_;
  std::vector<Matrix> matrices_;
  std::unique_ptr<Tensor> storage_;
  std::vector<LayerWeights> layers_;
  const float *embedding_, *final_norm_;
  std::vector<uint16_t> bf16_embedding_;
  kernels::PackedMatrix lm_head_, lm_head_transposed_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_WEIGHTS_H_
