#include "kernels/testing/dispatched_width.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/testing/dispatched_width.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

int WidthOfTarget() { return kWidth; }

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise {
namespace kernels {
HWY_EXPORT(WidthOfTarget);
static int ActiveWidth() { return HWY_DYNAMIC_DISPATCH(WidthOfTarget)(); }
}  // namespace kernels

namespace testing {
int DispatchedWidth() { return kernels::ActiveWidth(); }
}  // namespace testing
}  // namespace reprise
#endif
