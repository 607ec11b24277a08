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
HWY_INLINE void RotateRows(const RotaryTable& table, const int32_t* position, const Rows& x) {
  const int64_t half = table.head_width / 2;
  const float *const cos = table.cos.data(), *const sin = table.sin.data();
  for (int64_t r = 0; r < x.rows; ++r) {
    const int64_t entry = position[r] * half;
    for (int64_t c = 0; c < x.width; c += 2 * half) RotateHead<kInverse>(half, cos + entry, sin + entry, x[r] + c);
  }
}

void RotateForwardRows(const RotaryTable& table, const int32_t* position, const Rows& x) {
  RotateRows<false>(table, position, x);
}

void RotateBackwardRows(const RotaryTable& table, const int32_t* position, const Rows& x) {
  RotateRows<true>(table, position, x);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RotateForwardRows);
HWY_EXPORT(RotateBackwardRows);

void Rotate(const RotaryTable& table, const int32_t* position_T, const Rows& x) {
  HWY_DYNAMIC_DISPATCH(RotateForwardRows)(table, position_T, x);
}

void RotateBackward(const RotaryTable& table, const int32_t* position_T, const Rows& dx) {
  HWY_DYNAMIC_DISPATCH(RotateBackwardRows)(table, position_T, dx);
}

}  // namespace reprise::kernels
#endif
