#include "kernels/embedding/embedding.h"

#include <algorithm>

#include "kernels/products/packed_matrix.h"
#include "kernels/rows/elementwise.h"

namespace reprise::kernels {

void Embed(int64_t rows, int64_t width, const int32_t* token_T, const float* table, float* y, int64_t ldy) {
  for (int64_t t = 0; t < rows; ++t) std::copy_n(table + token_T[t] * width, width, y + t * ldy);
}

void Embed(int64_t rows, int64_t width, const int32_t* token_T, const uint16_t* table, float* y, int64_t ldy) {
  for (int64_t t = 0; t < rows; ++t) {
    std::transform(table + token_T[t] * width, table + (token_T[t] + 1) * width, y + t * ldy, FromBf16);
  }
}

void EmbedBackward(int64_t rows, int64_t width, const int32_t* token_T, const float* dy, int64_t lddy,
                   int32_t skip_token, float* gradient) {
  for (int64_t t = 0; t < rows; ++t) {
    if (token_T[t] == skip_token) continue;
    float* const row = gradient + token_T[t] * width;
    Add(width, row, dy + t * lddy, row);
  }
}

}  // namespace reprise::kernels
