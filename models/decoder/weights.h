#ifndef MODELS_DECODER_WEIGHTS_H_
#define MODELS_DECODER_WEIGHTS_H_

// The matrices of a decoder, packed for the kernels. This is a copy, packed anew after every optimizer step. With
// bf16_weights the copy of every matrix, embeddings included, holds bf16 (rounded to nearest, ties to even) for both
// forward and backward; routers stay floats, because the choice of experts depends on small differences in them, and so
// do the gains of norms and the parameters that optimizers update.
//
// Two equal sets of parameters, such as a policy and its reference when training begins, can share one copy: the part
// that forward passes read is shared until one of them is packed again, which then gets its own memory.
//
// Frozen weights, to which adapters are added, are in no flat array: Load packs them as they are read, and keeps only
// the copies.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "kernels/experts/experts.h"
#include "kernels/products/packed_matrix.h"
#include "kernels/products/substitute.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/lora/adapter_weights.h"
#include "models/lora/new_rows.h"

namespace reprise::models {

// Pointers into the packed copy, and (norms of weights that are not frozen) into the flat parameters, which must
// outlive it.
struct LayerWeights {
  const float *input_norm, *q_norm, *k_norm, *post_norm;
  kernels::PackedMatrix qkv, qkv_transposed;  // one matrix [D + 2 * KV, D]: the rows of q, then k, then v
  kernels::PackedMatrix o, o_transposed;
  kernels::PackedMatrix router, router_transposed;
  std::vector<kernels::ExpertWeights> expert_E;
  LayerAdapters adapters;  // none unless SetAdapters was called
};

// A function of elements [first, first + size).
using RangeFunction = std::function<void(int64_t first, int64_t size)>;

// Reads one tensor of a layout, of which `values` has the size. Called from several threads at once.
using TensorReader = std::function<absl::Status(int spec, absl::Span<float> values)>;

class PackedWeights {
 public:
  // `flat` holds the parameters in `layout`'s order; it must outlive this. Null: the weights are frozen. Nothing is
  // packed yet. Without `training` there are no transposed copies (they are null).
  PackedWeights(const DecoderConfig& config, const DecoderLayout& layout, const float* flat, bool training);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Packs all matrices again; allocates new memory if the old copy is shared. Deterministic; `pool`'s threads divide
  // the work. before(first, size), if any, is called just before elements [first, first + size) of `flat` are packed,
  // on the thread that packs them: once for each element of a matrix, on several threads at once. So what it computes,
  // such as an optimizer's step, is packed while it is in cache.
  void Refresh(ThreadPool& pool, const RangeFunction& before = nullptr);

  // For frozen weights, once, instead of Refresh: reads and packs all tensors, each matrix for itself. Returns the
  // first error of `read`, in order of tensors.
  absl::Status Load(ThreadPool& pool, const TensorReader& read);

  // For frozen weights: uses these rows at the end of the vocabulary, in place of those that Load has read, until they
  // are set again: [new_rows, D] of the embedding and of the lm-head, the same where they are tied, which must outlive
  // this. Copies both matrices first, unless this has copies of its own already.
  void SetNewRows(const float* embedding, const float* lm_head);
  // Uses the copies of another object, whose rows are equal.
  void ShareNewRows(const PackedWeights& other);

  // Uses these adapters, one entry for each layer, until they are set again.
  void SetAdapters(const std::vector<LayerAdapters>& layers);

  // Returns the ranges of `flat` that are parts of matrices, ascending: all but gains of norms and an untied embedding.
  std::vector<std::pair<int64_t, int64_t>> PackedRanges() const;  // first, size

  // Frees this object's own copy and shares another's: that of a decoder of the same shape whose parameters are equal
  // bit for bit (the caller must ensure this) and which was packed since they last changed. With `training` only
  // between frozen weights, which both have it: these are never packed again. Adapters are not shared by this.
  void Share(const PackedWeights& other);
  bool SharesWith(const PackedWeights& other) const { return forward_ != nullptr && forward_ == other.forward_; }
  bool has_lm_head() const { return has_lm_head_; }

  const DecoderConfig& config() const { return config_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  // Computes the embeddings of tokens, y_TD.
  void Embed(const int32_t* token_T, const kernels::Rows& y_TD) const;
  // Returns the memory that Embed reads: floats, or bf16.
  absl::Span<const unsigned char> embedding_bytes() const;
  const float* final_norm() const { return final_norm_; }
  const kernels::PackedMatrix& lm_head() const { return lm_head_; }
  const kernels::PackedMatrix& lm_head_transposed() const { return lm_head_transposed_; }

  // Returns the offset, in the flat parameters, of the first tensor whose packed copy differs from what Refresh makes,
  // or of frozen weights (then the offset is that in their layout, and tensors of one matrix count as its first) from
  // what Load made; nothing if there is none. For finding the cause of a failure: takes the time of a Refresh and the
  // memory of the largest matrix.
  std::optional<int64_t> FirstDamage() const;

  // Returns the bytes that the copy takes; `layout`: of the weights themselves, without adapters.
  static int64_t Bytes(const DecoderConfig& config, const DecoderLayout& layout, bool training);
  // Returns the bytes that frozen weights take besides: tensors that kernels read unpacked.
  static int64_t UnpackedBytes(const DecoderConfig& config, const DecoderLayout& layout);
  // Returns the bytes of the copies that new rows need; 0 without.
  static int64_t NewRowBytes(const DecoderConfig& config, bool training);
  // Returns the bytes of the matrices that forward passes read; 0 before the first Refresh.
  int64_t ForwardBytes() const;

 private:
  // One packed matrix: the rows of its parts, stacked.
  struct Matrix {
    std::vector<int> specs;      // of its parts, in the layout
    std::vector<int64_t> parts;  // offsets in the flat parameters, row-major [part_rows, columns] each
    std::vector<int64_t> part_rows;
    int64_t rows = 0, columns = 0;
    bool bf16 = false;
    float* packed = nullptr;  // bf16 values are stored in memory for floats
    float* transposed = nullptr;

    int64_t Floats() const;
    int64_t TransposedFloats() const;
    kernels::PackedMatrix View(float* memory) const;
  };
  // Lists the matrices of all layers, then the lm-head, in the order in which the forward pass reads them; allocates no
  // memory.
  static std::vector<Matrix> ListMatrices(const DecoderConfig& config, const DecoderLayout& layout);
  // The data that forward passes read: all matrices in the order in which they read them (products prefetch what
  // follows in memory), and the embedding if it is packed.
  struct ForwardCopy {
    Tensor matrices;
    std::vector<uint16_t> bf16_embedding;
    // Of frozen weights: the tensors of Unpacked, and checksums: of each matrix, each of those tensors, and the
    // embedding if it is packed.
    Tensor unpacked;
    std::vector<uint64_t> checksums;
  };
  // What backward passes read besides.
  struct TransposedCopy {
    Tensor matrices;
    std::vector<uint64_t> checksums;  // of frozen weights
  };
  // Of frozen weights; has_lm_head_.
  FrozenVocabulary Vocabulary() const;
  void PointAtNewRows();
  std::optional<int64_t> DamageOfNewRows() const;
  // A tensor that kernels read as it is: a gain of a norm, or an embedding in floats.
  struct Unpacked {
    int spec = 0;
    int64_t offset = 0, size = 0;     // in the layout
    const float** pointer = nullptr;  // to be set to it
  };
  std::vector<Unpacked> ListUnpacked(const DecoderLayout& layout);
  absl::Status LoadMatrix(size_t index, const TensorReader& read);
  void MakeRoom();
  void PointAtCopies();
  // Rows of a matrix that a thread packs at a time.
  struct Block {
    size_t matrix = 0;
    int64_t first_row = 0, rows = 0;  // whole panels, unless they are the last rows
  };
  static std::vector<Block> ListBlocks(const std::vector<Matrix>& matrices);
  const float* RowsOf(const Matrix& matrix, int64_t first_row, int64_t rows, const RangeFunction& before) const;
  void PackBlock(const Matrix& matrix, int64_t first_row, int64_t rows, const RangeFunction& before) const;
  // source: the matrix's rows.
  void Tell(kernels::ProductSubstitute& substitute, const Matrix& matrix, const float* source) const;
  static uint64_t ChecksumOfBytes(const void* data, size_t bytes);
  static uint64_t Checksum(const float* floats, int64_t size) {
    return ChecksumOfBytes(floats, static_cast<size_t>(size) * sizeof(float));
  }
  // Of the frozen tensors that are in no matrix, in the order of ForwardCopy::checksums.
  std::vector<uint64_t> ChecksumsOfOthers() const;
  std::optional<int64_t> FirstDamageOfFrozen() const;
  void PackEmbedding(int64_t first, int64_t last);
  static int64_t PartOfRow(const Matrix& matrix, int64_t row);

  const DecoderConfig config_;
  const float* const flat_;  // null: frozen
  const bool training_;
  const int64_t embedding_offset_, embedding_size_;
  bool has_lm_head_;
  std::vector<Matrix> matrices_;
  const std::vector<Block> blocks_;
  const bool past_caches_;                      // whether the copy leaves the last-level cache before it is read
  std::shared_ptr<ForwardCopy> forward_;        // null until there is one
  std::shared_ptr<TransposedCopy> transposed_;  // likewise
  std::shared_ptr<NewRows> new_rows_;           // null without
  const float *new_embedding_ = nullptr, *new_lm_head_ = nullptr;  // those in it; null where it is another's
  std::vector<LayerWeights> layers_;
  const float *embedding_ = nullptr, *final_norm_ = nullptr;
  std::vector<Unpacked> unpacked_;  // of frozen weights
  int embedding_spec_ = 0;
  kernels::PackedMatrix lm_head_, lm_head_transposed_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_WEIGHTS_H_
