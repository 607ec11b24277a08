// Softmax of one row, for use inside other kernels:
//   y_j = e_j * (1 / s) with e_j = exp(x_j - max of the row) and s = sum of e_j in 64 lanes (lane = j mod 64, starting
// at +0), then the fixed tree t[i] += t[i + w] for w = 32, ..., 1. y may be x. A row that contains NaN or +inf becomes
// NaN. A row's bits depend on that row alone.
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_ROWS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_ROWS_SOFTMAX_INL_H_
#undef KERNELS_ROWS_SOFTMAX_INL_H_
#else
#define KERNELS_ROWS_SOFTMAX_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

HWY_INLINE void SoftmaxOfRow(int64_t n, const float* x, float* y) {
  const FloatTag d;
  const Floats max = hn::Set(d, MaxOf(x, n));
  const float sum = SumInLanes(n, [=](Floats lane, int64_t i, int64_t left) HWY_ATTR {
    const Floats e = ExpOf(hn::Sub(LoadPart(x + i, left, 0.0f), max));
    StorePart(e, y + i, left);
    return hn::Add(lane, e);
  });
  const Floats inverse = hn::Set(d, 1.0f / sum);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), inverse), d, y + i);
  StorePart(hn::Mul(LoadPart(y + i, n - i, 0.0f), inverse), y + i, n - i);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
