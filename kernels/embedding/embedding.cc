#include "kernels/embedding/embedding.h"

#include <algorithm>

#include "kernels/rows/elementwise.h"

namespace reprise::kernels {

void Embed(int64_t rows, int64_t width, const int32_t* token_T, const float* table, float* y, int64_t ldy) {
  for (int64_t t = 0; t < rows; ++t) std::copy_n(table + token_T[t] * width, width, y + t * ldy);
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
