// Transposes of small blocks, for packing.
//
// Toggle guard: the file is compiled once for each target.
#if defined(KERNELS_PRODUCTS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_PRODUCTS_TRANSPOSE_INL_H_
#undef KERNELS_PRODUCTS_TRANSPOSE_INL_H_
#else
#define KERNELS_PRODUCTS_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[s * to_stride + j] = from[j * stride + s] for j, s in [0, 4).
HWY_INLINE void Transpose4(const float* from, int64_t stride, float* to, int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
  const auto c = hn::LoadU(d, from + 2 * stride), e = hn::LoadU(d, from + 3 * stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * to_stride);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
