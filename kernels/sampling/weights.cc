#include "kernels/sampling/weights.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sampling/weights.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void DivideArray(float divisor, int64_t n, float* z) {
  const Floats by = hn::Set(FloatTag(), divisor);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(hn::Div(hn::LoadU(FloatTag(), z + i), by), FloatTag(), z + i);
  StorePart(hn::Div(LoadPart(z + i, n - i, 0.0f), by), z + i, n - i);
}

void BlockSums(int64_t n, const float* z, float max, float* block_sums) {
  const Floats vmax = hn::Set(FloatTag(), max);
  for (int64_t begin = 0; begin < n; begin += 64) {
    *block_sums++ = SumInLanes(std::min<int64_t>(n - begin, 64), [=](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      return hn::Add(lane, ExpOf(hn::Sub(LoadPart(z + begin + i, left, 0.0f), vmax)));
    });
  }
}

void BlockWeights(int64_t n, const float* z, float max, float* e) {
  for (int64_t i = 0; i < n; i += kWidth) {
    StorePart(ExpOf(hn::Sub(LoadPart(z + i, n - i, 0.0f), hn::Set(FloatTag(), max))), e + i, n - i);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(DivideArray);
HWY_EXPORT(BlockSums);
HWY_EXPORT(BlockWeights);

namespace internal {

void DivideBy(float temperature, int64_t n, float* z) { HWY_DYNAMIC_DISPATCH(DivideArray)(temperature, n, z); }

void SumWeightsByBlock(int64_t n, const float* z, float max, float* block_sums) {
  HWY_DYNAMIC_DISPATCH(BlockSums)(n, z, max, block_sums);
}

void WeightsOfBlock(int64_t n, const float* z, float max, float* e) {
  HWY_DYNAMIC_DISPATCH(BlockWeights)(n, z, max, e);
}

}  // namespace internal
}  // namespace reprise::kernels
#endif
