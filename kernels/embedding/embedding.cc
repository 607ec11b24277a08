#include "kernels/embedding/embedding.h"

#include <algorithm>

#include "kernels/products/packed_matrix.h"
#include "kernels/rows/elementwise.h"

namespace reprise::kernels {

void Embed(const int32_t* token_T, const float* table, const Rows& y) {
  for (int64_t t = 0; t < y.rows; ++t) std::copy_n(table + token_T[t] * y.width, y.width, y[t]);
}

void Embed(const int32_t* token_T, const uint16_t* table, const Rows& y) {
  for (int64_t t = 0; t < y.rows; ++t) {
    std::transform(table + token_T[t] * y.width, table + (token_T[t] + 1) * y.width, y[t], FromBf16);
  }
}

void EmbedBackward(const int32_t* token_T, const ConstRows& dy, int32_t skip_token, float* gradient) {
  for (int64_t t = 0; t < dy.rows; ++t) {
    if (token_T[t] == skip_token) continue;
    float* const row = gradient + token_T[t] * dy.width;
    Add(dy.width, row, dy[t], row);
  }
}

}  // namespace reprise::kernels
