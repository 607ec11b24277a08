#ifndef MODELS_LORA_NEW_ROWS_H_
#define MODELS_LORA_NEW_ROWS_H_

// The embedding and the lm-head of a frozen model of which the last rows are trained: those of tokens that the
// vocabulary did not have. Both matrices are copies of the frozen ones, in which these rows are replaced, so that
// kernels read them as any other.

#include <cstdint>

#include "core/tensor/tensor.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::models {

// The frozen matrices, [rows, width] both, in floats or in bf16: the embedding by rows, the lm-head packed for
// products.
struct FrozenVocabulary {
  int64_t rows = 0, width = 0;
  bool bf16 = false;
  const unsigned char* embedding = nullptr;
  const float *lm_head = nullptr, *lm_head_transposed = nullptr;  // the latter may be null
};

class NewRows {
 public:
  explicit NewRows(const FrozenVocabulary& frozen);

  // Replaces the last `count` rows by rows [count, width].
  void Write(int64_t count, const float* embedding, const float* lm_head);

  const unsigned char* embedding() const;
  kernels::PackedMatrix lm_head() const { return View(lm_head_); }
  kernels::PackedMatrix lm_head_transposed() const { return View(lm_head_transposed_); }

  bool HasEmbeddingOf(const NewRows& other) const;
  bool HasLmHeadOf(const NewRows& other) const;

  // Returns the bytes that it takes.
  static int64_t Bytes(const FrozenVocabulary& shape, bool with_transposed);

 private:
  kernels::PackedMatrix View(const Tensor& tensor) const;

  const int64_t rows_, width_;
  const bool bf16_;
  Tensor embedding_, lm_head_, lm_head_transposed_;  // bf16 values are stored in memory for floats
};

}  // namespace reprise::models

#endif  // MODELS_LORA_NEW_ROWS_H_
