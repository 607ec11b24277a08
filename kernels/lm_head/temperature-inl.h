// Division by the temperature, as the sampler does it: IEEE division, one rounding.
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_LM_HEAD_TEMPERATURE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_LM_HEAD_TEMPERATURE_INL_H_
#undef KERNELS_LM_HEAD_TEMPERATURE_INL_H_
#else
#define KERNELS_LM_HEAD_TEMPERATURE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

HWY_INLINE void DivideByTemperature(int64_t n, float temperature, float* x) {
  if (temperature == 1.0f) return;  // x / 1 is x
  const FloatTag d;
  const Floats divisor = hn::Set(d, temperature);
  for (int64_t i = 0; i < n; i += kWidth) {
    StorePart(hn::Div(LoadPart(x + i, n - i, 0.0f), divisor), x + i, n - i);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
