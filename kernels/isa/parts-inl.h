// A loop over an array in vectors, the last of which may be a part (vectors-inl.h).
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_ISA_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_ISA_PARTS_INL_H_
#undef KERNELS_ISA_PARTS_INL_H_
#else
#define KERNELS_ISA_PARTS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Calls part(i, left) for elements [i, i + left) of [0, n), in ascending order. left is kWidth in all but the last
// call, as LoadPart and StorePart take it.
template <typename Part>
HWY_INLINE void ForEachPart(int64_t n, Part part) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) part(i, int64_t{kWidth});
  if (i < n) part(i, n - i);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
