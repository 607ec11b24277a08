#include "kernels/math/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/math/vector_math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// NaN stays NaN; above the clamp exp overflows to +inf.
HWY_INLINE Floats FullExp(Floats x) {
  const FloatTag d;
  const Floats y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228393f)), hn::Set(d, __builtin_inff()), ExpOf(x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

void ExpArray(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += kWidth) {
    const int64_t left = static_cast<int64_t>(n - i);
    StorePart(FullExp(LoadPart(x + i, left, 0.0f)), y + i, left);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ExpArray);

void Exp(const float* x, float* y, size_t n) { HWY_DYNAMIC_DISPATCH(ExpArray)(x, y, n); }

float Exp(float x) {
  Exp(&x, &x, 1);
  return x;
}

}  // namespace reprise::kernels
#endif
