#ifndef CORE_TENSOR_ROOM_H_
#define CORE_TENSOR_ROOM_H_

#include <cstdint>

#include "core/tensor/tensor.h"

namespace reprise {

// Returns at least `floats` floats in a buffer that only grows, aligned as tensors are. Old contents are lost when it
// grows.
inline float* Room(Tensor& buffer, int64_t floats) {
  if (buffer.size() < floats) {
    buffer = Tensor();  // frees the old memory first
    buffer = Tensor("", DType::kF32, {floats});
  }
  return buffer.mutable_data<float>().data();
}

}  // namespace reprise

#endif  // CORE_TENSOR_ROOM_H_
