#include "kernels/rows/attend_few.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "kernels/math/vector_math.h"

namespace reprise::kernels {
namespace {

float Chain(int64_t n, const float* a, const float* b) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

float FactorOf(const FewKeys& keys, int64_t k, int64_t head) {
  return keys.factor_KH == nullptr ? 1.0f : keys.factor_KH[k * keys.heads + head];
}

}  // namespace

void AttendFew(const FewKeys& keys, float* probability_KH, float* out_D) {
  const int64_t count = keys.k_KD.rows, heads = keys.heads, width = keys.k_KD.width / heads;
  CHECK_GE(count, 1);
  CHECK_EQ(width * heads, keys.k_KD.width);
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t first = head * width;
    float* const p = probability_KH + head;  // of key k at p[k * heads]
    float max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const float bias = keys.bias_K == nullptr ? 0.0f : keys.bias_K[k];
      p[k * heads] = std::fma(Chain(width, keys.q_D + first, keys.k_KD[k] + first), keys.scale, bias);
      max = std::max(max, p[k * heads]);
    }
    for (int64_t k = 0; k < count; ++k) {
      p[k * heads] = Exp(p[k * heads] - max);
      sum += p[k * heads];
    }
    for (int64_t k = 0; k < count; ++k) p[k * heads] /= sum;
    std::fill_n(out_D + first, width, 0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const float factor = p[k * heads] * FactorOf(keys, k, head);
      const float* const v = keys.v_KD[k] + first;
      for (int64_t d = 0; d < width; ++d) out_D[first + d] = std::fma(factor, v[d], out_D[first + d]);
    }
  }
}

void AttendFewBackward(const FewKeys& keys, const float* probability_KH, const float* dout_D,
                       const FewKeyGradients& gradients) {
  const int64_t count = keys.k_KD.rows, heads = keys.heads, width = keys.k_KD.width / heads;
  if (gradients.dbias_K != nullptr) std::fill_n(gradients.dbias_K, count, 0.0f);
  std::fill_n(gradients.dq_D, keys.k_KD.width, 0.0f);
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t first = head * width;
    const float* const p = probability_KH + head;
    const float* const dout = dout_D + first;
    const auto dp = [&](int64_t k) { return Chain(width, dout, keys.v_KD[k] + first) * FactorOf(keys, k, head); };
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum = std::fma(p[k * heads], dp(k), sum);
    for (int64_t k = 0; k < count; ++k) {
      const float probability = p[k * heads], factor = probability * FactorOf(keys, k, head);
      const float ds = probability * (dp(k) - sum), scaled = ds * keys.scale;
      if (gradients.dbias_K != nullptr) gradients.dbias_K[k] += ds;
      const float *const key = keys.k_KD[k] + first, *const query = keys.q_D + first;
      for (int64_t d = 0; d < width; ++d) {
        gradients.dv_KD[k][first + d] = factor * dout[d];
        gradients.dk_KD[k][first + d] = scaled * query[d];
        gradients.dq_D[first + d] = std::fma(scaled, key[d], gradients.dq_D[first + d]);
      }
    }
  }
}

}  // namespace reprise::kernels
