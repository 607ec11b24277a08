#include "kernels/rows/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/rows/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void SoftmaxRows(int64_t rows, int64_t n, const float* x, int64_t ldx, float* y, int64_t ldy) {
  for (int64_t r = 0; r < rows; ++r) SoftmaxOfRow(n, x + r * ldx, y + r * ldy);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(SoftmaxRows);

void Softmax(int64_t rows, int64_t n, const float* x, int64_t ldx, float* y, int64_t ldy) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRows)(rows, n, x, ldx, y, ldy);
}

}  // namespace reprise::kernels
#endif
