#ifndef MODELS_DECODER_WEIGHTS_H_
#define MODELS_DECODER_WEIGHTS_H_

// The matrices of a decoder, packed for the kernels. A copy: packed anew after every optimizer step. With bf16_weights
// the copy of every matrix, embeddings included, holds bf16 (rounded to nearest, ties to even) for forward and backward
// alike; routers, on whose small differences the choice of experts hangs, and gains of norms stay floats, and so do the
// parameters that optimizers step.
//
// Two sets of parameters that are equal, a policy and its reference as training begins, can have one copy: what forward
// passes read is shared until one of them is packed again, which then gets memory of its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "kernels/experts/experts.h"
#include "kernels/products/packed_matrix.h"
#include "kernels/products/substitute.h"
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

// A function of elements [first, first + size).
using RangeFunction = std::function<void(int64_t first, int64_t size)>;

class PackedWeights {
 public:
  // `flat` holds the parameters in `layout`'s order; it must outlive this. Nothing is packed yet. Without `training` no
  // transposed copies are held (they are null).
  PackedWeights(const DecoderConfig& config, const ParameterLayout& layout, const float* flat, bool training);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Packs all matrices again; into other memory where the old copy is shared. Deterministic; `pool`'s threads share the
  // work. before(first, size), if any, is called just before elements [first, first + size) of `flat` are packed, by
  // the thread that packs them: each element of a matrix once, from several threads at once. What it computes, an
  // optimizer's step, is packed while it is in cache.
  void Refresh(ThreadPool& pool, const RangeFunction& before = nullptr);

  // Elements of `flat` that are parts of matrices, ascending: all but gains of norms and an embedding that is not tied.
  std::vector<std::pair<int64_t, int64_t>> PackedRanges() const;  // first, size

  // Takes another's copy instead of one of its own, which is given back: that of a decoder of the same shape whose
  // parameters are equal bit for bit (the caller sees to it), packed since they last changed. Not with `training`.
  void Share(const PackedWeights& other);
  bool SharesWith(const PackedWeights& other) const { return forward_ != nullptr && forward_ == other.forward_; }

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
  // Bytes of the matrices that forward passes read; 0 before the first Refresh.
  int64_t ForwardBytes() const;

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
  // What forward passes read: all matrices in the order in which they do (products fetch what follows in memory), and
  // the embedding where it is packed.
  struct ForwardCopy {
    Tensor matrices;
    std::vector<uint16_t> bf16_embedding;
  };
  void MakeRoom();
  void PointAtCopies();
  // Some rows of a matrix: what a thread packs at a time.
  struct Block {
    size_t matrix = 0;
    int64_t first_row = 0, rows = 0;  // whole panels, unless they are the last rows
  };
  static std::vector<Block> ListBlocks(const std::vector<Matrix>& matrices);
  const float* RowsOf(const Matrix& matrix, int64_t first_row, int64_t rows, const RangeFunction& before) const;
  void PackBlock(const Matrix& matrix, int64_t first_row, int64_t rows, const RangeFunction& before) const;
  void Tell(kernels::ProductSubstitute& substitute, const Matrix& matrix) const;
  void PackEmbedding(int64_t first, int64_t last);
  static int64_t PartOfRow(const Matrix& matrix, int64_t row);

  const DecoderConfig config_;
  const float* const flat_;
  const bool training_;
  const int64_t embedding_size_;
  bool has_lm_head_;
  std::vector<Matrix> matrices_;
  const std::vector<Block> blocks_;
  const bool past_caches_;                // whether the copy leaves the last-level cache before it is read
  std::shared_ptr<ForwardCopy> forward_;  // null until there is one
  Tensor transposed_;                     // likewise empty
  std::vector<LayerWeights> layers_;
  const float *embedding_, *final_norm_;
  kernels::PackedMatrix lm_head_, lm_head_transposed_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_WEIGHTS_H_
