#include "kernels/rows/lstm_cell.h"

#include <cmath>

#include "kernels/math/vector_math.h"

namespace reprise::kernels {

void LstmCell(int64_t n, float* gates, const float* c_before, float* c, float* tanh_c, float* h) {
  const size_t size = static_cast<size_t>(n);
  Sigmoid(gates, gates, 2 * size);
  Tanh(gates + 2 * n, gates + 2 * n, size);
  Sigmoid(gates + 3 * n, gates + 3 * n, size);
  const float *const i = gates, *const f = gates + n, *const g = gates + 2 * n, *const o = gates + 3 * n;
  for (int64_t j = 0; j < n; ++j) c[j] = std::fma(f[j], c_before[j], i[j] * g[j]);
  Tanh(c, tanh_c, size);
  for (int64_t j = 0; j < n; ++j) h[j] = o[j] * tanh_c[j];
}

void LstmCellBackward(int64_t n, const LstmCellValues& values, const float* dh, float* dc, float* dgates) {
  const float *const i = values.gates, *const f = i + n, *const g = f + n, *const o = g + n;
  for (int64_t j = 0; j < n; ++j) {
    const float t = values.tanh_c[j];
    const float e = std::fma(dh[j] * o[j], std::fma(-t, t, 1.0f), dc[j]);
    dgates[j] = e * g[j] * (i[j] * (1.0f - i[j]));
    dgates[n + j] = e * values.c_before[j] * (f[j] * (1.0f - f[j]));
    dgates[2 * n + j] = e * i[j] * std::fma(-g[j], g[j], 1.0f);
    dgates[3 * n + j] = dh[j] * t * (o[j] * (1.0f - o[j]));
    dc[j] = e * f[j];
  }
}

}  // namespace reprise::kernels
