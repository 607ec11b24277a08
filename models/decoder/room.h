#ifndef MODELS_DECODER_ROOM_H_
#define MODELS_DECODER_ROOM_H_

#include <cstdint>
#include <cstring>

#include "core/tensor/room.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"

namespace reprise::models {

inline kernels::Rows RoomForRows(Tensor& buffer, int64_t rows, int64_t width) {
  return {Room(buffer, rows * width), rows, width};
}

inline void CopyRows(const kernels::ConstRows& from, const kernels::Rows& to) {
  for (int64_t r = 0; r < to.rows; ++r) std::memcpy(to[r], from[r], static_cast<size_t>(to.width) * sizeof(float));
}

}  // namespace reprise::models

#endif  // MODELS_DECODER_ROOM_H_
