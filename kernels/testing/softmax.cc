#include "kernels/testing/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/testing/softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/rows/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void SoftmaxRows(const ConstRows& x, const Rows& y) {
  for (int64_t r = 0; r < x.rows; ++r) SoftmaxOfRow(x.width, x[r], y[r]);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(SoftmaxRows);

void Softmax(const ConstRows& x, const Rows& y) { HWY_DYNAMIC_DISPATCH(SoftmaxRows)(x, y); }

}  // namespace reprise::kernels
#endif
