#include "models/lora/new_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/products/products.h"

namespace reprise::models {
namespace {

int64_t FloatsFor(int64_t elements, bool bf16) { return bf16 ? (elements + 1) / 2 : elements; }

Tensor CopyOf(const void* from, int64_t floats) {
  Tensor copy("new rows", DType::kF32, {floats});
  std::memcpy(copy.mutable_data<float>().data(), from, static_cast<size_t>(floats) * sizeof(float));
  return copy;
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.bytes().size() == b.bytes().size() && std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

}  // namespace

NewRows::NewRows(const FrozenVocabulary& frozen) : rows_(frozen.rows), width_(frozen.width), bf16_(frozen.bf16) {
  const int64_t elements = rows_ * width_;
  embedding_ = Tensor("new rows", DType::kF32, {FloatsFor(elements, bf16_)});
  std::memcpy(embedding_.mutable_data<float>().data(), frozen.embedding,
              static_cast<size_t>(elements) * (bf16_ ? sizeof(uint16_t) : sizeof(float)));
  lm_head_ = CopyOf(frozen.lm_head, FloatsFor(kernels::PackedSize(rows_, width_), bf16_));
  if (frozen.lm_head_transposed == nullptr) return;
  lm_head_transposed_ = CopyOf(frozen.lm_head_transposed, FloatsFor(kernels::PackedSize(width_, rows_), bf16_));
}

void NewRows::Write(int64_t count, const float* embedding, const float* lm_head) {
  const int64_t first = rows_ - count, size = count * width_;
  float* const table = embedding_.mutable_data<float>().data();
  float* const packed = lm_head_.mutable_data<float>().data();
  float* const transposed =
      lm_head_transposed_.size() == 0 ? nullptr : lm_head_transposed_.mutable_data<float>().data();
  if (!bf16_) {
    std::copy_n(embedding, size, table + first * width_);
    return kernels::ReplaceRows(lm_head, count, width_, first, rows_, packed, transposed);
  }
  std::transform(embedding, embedding + size, reinterpret_cast<uint16_t*>(table) + first * width_,
                 kernels::RoundToBf16);
  kernels::ReplaceRows(lm_head, count, width_, first, rows_, reinterpret_cast<kernels::Bf16Pair*>(packed),
                       reinterpret_cast<kernels::Bf16Pair*>(transposed));
}

const unsigned char* NewRows::embedding() const {
  return reinterpret_cast<const unsigned char*>(embedding_.data<float>().data());
}

bool NewRows::HasEmbeddingOf(const NewRows& other) const { return SameBytes(embedding_, other.embedding_); }

bool NewRows::HasLmHeadOf(const NewRows& other) const {
  return SameBytes(lm_head_, other.lm_head_) && SameBytes(lm_head_transposed_, other.lm_head_transposed_);
}

int64_t NewRows::Bytes(const FrozenVocabulary& shape, bool with_transposed) {
  int64_t floats = FloatsFor(shape.rows * shape.width, shape.bf16) +
                   FloatsFor(kernels::PackedSize(shape.rows, shape.width), shape.bf16);
  if (with_transposed) floats += FloatsFor(kernels::PackedSize(shape.width, shape.rows), shape.bf16);
  return floats * static_cast<int64_t>(sizeof(float));
}

kernels::PackedMatrix NewRows::View(const Tensor& tensor) const {
  if (tensor.size() == 0) return {};
  const float* const floats = tensor.data<float>().data();
  if (bf16_) return reinterpret_cast<const kernels::Bf16Pair*>(floats);
  return floats;
}

}  // namespace reprise::models
