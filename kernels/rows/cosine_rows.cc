#include "kernels/rows/cosine_rows.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/cosine_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

float Dot(int64_t n, const float* a, const float* b) {
  return SumInLanes(n, [a, b](Floats lane, int64_t i, int64_t left) HWY_ATTR {
    return hn::MulAdd(LoadPart(a + i, left, 0.0f), LoadPart(b + i, left, 0.0f), lane);
  });
}

void Cosine(const ConstRows& a_rows, const ConstRows& b_rows, float* cosine_R, float* norms_R2) {
  constexpr float kLeast = 1e-8f;
  const int64_t n = a_rows.width;
  for (int64_t r = 0; r < a_rows.rows; ++r) {
    const float *const a = a_rows[r], *const b = b_rows[r];
    norms_R2[2 * r] = std::max(std::sqrt(Dot(n, a, a)), kLeast);
    norms_R2[2 * r + 1] = std::max(std::sqrt(Dot(n, b, b)), kLeast);
    cosine_R[r] = Dot(n, a, b) / (norms_R2[2 * r] * norms_R2[2 * r + 1]);
  }
}

// to = fma(u, other, -(r own)).
void GradientOfRow(int64_t n, float u, float r, const float* own, const float* other, float* to) {
  const FloatTag d;
  const Floats scale = hn::Set(d, u), part = hn::Set(d, r);
  for (int64_t i = 0; i < n; i += kWidth) {
    const Floats of_own = hn::Mul(part, LoadPart(own + i, n - i, 0.0f));
    StorePart(hn::MulSub(scale, LoadPart(other + i, n - i, 0.0f), of_own), to + i, n - i);
  }
}

void CosineBackward(const ConstRows& a, const ConstRows& b, const float* cosine_R, const float* norms_R2,
                    const float* dcosine_R, const Rows& da, const Rows& db) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const float n_a = norms_R2[2 * r], n_b = norms_R2[2 * r + 1], along = dcosine_R[r] * cosine_R[r];
    const float u = dcosine_R[r] / (n_a * n_b);
    GradientOfRow(a.width, u, along / (n_a * n_a), a[r], b[r], da[r]);
    GradientOfRow(a.width, u, along / (n_b * n_b), b[r], a[r], db[r]);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(Cosine);
HWY_EXPORT(CosineBackward);

void CosineRows(const ConstRows& a, const ConstRows& b, float* cosine_R, float* norms_R2) {
  HWY_DYNAMIC_DISPATCH(Cosine)(a, b, cosine_R, norms_R2);
}

void CosineRowsBackward(const ConstRows& a, const ConstRows& b, const float* cosine_R, const float* norms_R2,
                        const float* dcosine_R, const Rows& da, const Rows& db) {
  HWY_DYNAMIC_DISPATCH(CosineBackward)(a, b, cosine_R, norms_R2, dcosine_R, da, db);
}

}  // namespace reprise::kernels
#endif
