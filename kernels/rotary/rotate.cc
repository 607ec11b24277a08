#include "kernels/rotary/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary/rotate.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

template <bool kInverse>
HWY_INLINE void RotateHead(int64_t half, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin,
                           float* HWY_RESTRICT x) {
  const auto part = [=](int64_t j, int64_t left) HWY_ATTR {
    const Floats a = LoadPart(x + j, left, 0.0f), b = LoadPart(x + half + j, left, 0.0f);
    const Floats c = LoadPart(cos + j, left, 0.0f);
    const Floats s = kInverse ? hn::Neg(LoadPart(sin + j, left, 0.0f)) : LoadPart(sin + j, left, 0.0f);
    StorePart(hn::MulSub(a, c, hn::Mul(b, s)), x + j, left);
    StorePart(hn::MulAdd(b, c, hn::Mul(a, s)), x + half + j, left);
  };
  int64_t j = 0;
  for (; j + kWidth <= half; j += kWidth) part(j, kWidth);
  if (j < half) part(j, half - j);
}

template <bool kInverse>
HWY_INLINE void RotateRows(int64_t rows, int64_t heads, int64_t head_width, const float* cos, const float* sin,
                           const int32_t* position, float* x, int64_t ldx) {
  const int64_t half = head_width / 2;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t entry = position[r] * half;
    for (int64_t h = 0; h < heads; ++h) {
      RotateHead<kInverse>(half, cos + entry, sin + entry, x + r * ldx + h * head_width);
    }
  }
}

void RotateForwardRows(int64_t rows, int64_t heads, int64_t head_width, const float* cos, const float* sin,
                       const int32_t* position, float* x, int64_t ldx) {
  RotateRows<false>(rows, heads, head_width, cos, sin, position, x, ldx);
}

void RotateBackwardRows(int64_t rows, int64_t heads, int64_t head_width, const float* cos, const float* sin,
                        const int32_t* position, float* x, int64_t ldx) {
  RotateRows<true>(rows, heads, head_width, cos, sin, position, x, ldx);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RotateForwardRows);
HWY_EXPORT(RotateBackwardRows);

void Rotate(int64_t rows, int64_t heads, const RotaryTable& table, const int32_t* position_T, float* x, int64_t ldx) {
  HWY_DYNAMIC_DISPATCH(RotateForwardRows)
  (rows, heads, table.head_width, table.cos.data(), table.sin.data(), position_T, x, ldx);
}

void RotateBackward(int64_t rows, int64_t heads, const RotaryTable& table, const int32_t* position_T, float* dx,
                    int64_t lddx) {
  HWY_DYNAMIC_DISPATCH(RotateBackwardRows)
  (rows, heads, table.head_width, table.cos.data(), table.sin.data(), position_T, dx, lddx);
}

}  // namespace reprise::kernels
#endif
