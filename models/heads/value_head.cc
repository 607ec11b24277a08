#include "models/heads/value_head.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/room.h"
#include "kernels/products/products.h"

namespace reprise::models {

void ValueForward(const ValueHead& head, const float* hidden_TD, const std::vector<int64_t>& row_S,
                  ValueBuffers* buffers) {
  const int64_t rows = static_cast<int64_t>(row_S.size()), width = head.width;
  float* const hidden_SD = Room(buffers->hidden_SD, rows * width);
  for (int64_t s = 0; s < rows; ++s) {
    std::memcpy(hidden_SD + s * width, hidden_TD + row_S[s] * width, static_cast<size_t>(width) * sizeof(float));
  }
  float* const packed = Room(buffers->packed, kernels::PackedSize(1, width));
  kernels::PackForward(head.weight, 1, width, packed, 0, kernels::Panels(1));
  buffers->value_S.resize(static_cast<size_t>(rows));
  kernels::Product({hidden_SD, rows, width}, packed, {buffers->value_S.data(), rows, 1});
  for (float& value : buffers->value_S) value += head.bias[0];
}

void ValueBackward(const ValueHead& head, const std::vector<float>& dvalue_S, const std::vector<int64_t>& row_S,
                   bool last, ValueBuffers* buffers, float* dhidden_TD, ValueHeadGradient* gradient) {
  const int64_t rows = static_cast<int64_t>(row_S.size()), width = head.width;
  float* const ones_S = Room(buffers->ones_S, rows);
  std::fill_n(ones_S, rows, 1.0f);
  const kernels::ConstRows dvalue_S1 = {dvalue_S.data(), rows, 1};
  kernels::AccumulateWeightGradient(dvalue_S1, {buffers->hidden_SD.data<float>().data(), rows, width},
                                    {gradient->weight, gradient->open_weight, gradient->rows, last});
  kernels::AccumulateWeightGradient(dvalue_S1, {ones_S, rows, 1},
                                    {gradient->bias, gradient->open_bias, gradient->rows, last});
  gradient->rows += rows;
  for (int64_t s = 0; s < rows; ++s) {
    float* const row = dhidden_TD + row_S[s] * width;
    const float dvalue = dvalue_S[s];
    for (int64_t d = 0; d < width; ++d) row[d] += dvalue * head.weight[d];
  }
}

}  // namespace reprise::models
