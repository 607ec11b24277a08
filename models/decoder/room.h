#ifndef MODELS_DECODER_ROOM_H_
#define MODELS_DECODER_ROOM_H_

#include <cstdint>
#include <cstring>

#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"

namespace reprise::models {

// Returns at least `floats` floats in a buffer that only grows, aligned as tensors are. Old contents are lost when it
// grows.
inline float* Room(Tensor& buffer, int64_t floats) {
  if (buffer.size() < floats) {
    buffer = Tensor();  // frees the old memory first
    buffer = Tensor("", DType::kF32, {floats});
  }
  return buffer.mutable_data<float>().data();
}

inline kernels::Rows RoomForRows(Tensor& buffer, int64_t rows, int64_t width) {
  return {Room(buffer, rows * width), rows, width};
}

inline void CopyRows(const kernels::ConstRows& from, const kernels::Rows& to) {
  for (int64_t r = 0; r < to.rows; ++r) std::memcpy(to[r], from[r], static_cast<size_t>(to.width) * sizeof(float));
}

}  // namespace reprise::models

#endif  // MODELS_DECODER_ROOM_H_
