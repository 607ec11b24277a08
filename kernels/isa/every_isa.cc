#include "kernels/isa/every_isa.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/isa/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/isa/every_isa.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {
namespace {

Isa CompiledFor() { return HWY_TARGET == HWY_AVX2 ? Isa::kAvx2 : Isa::kAvx512; }

}  // namespace
}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(CompiledFor);

void OnEveryIsa(const std::function<void()>& body) {
  const std::vector<Isa> available = AvailableIsas();
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (std::find(available.begin(), available.end(), isa) == available.end()) {
      std::cout << "SKIPPED on " << NameOf(isa) << ": this machine lacks it\n";
      continue;
    }
    SCOPED_TRACE(NameOf(isa));
    SetIsaForTest(isa);
    ASSERT_EQ(HWY_DYNAMIC_DISPATCH(CompiledFor)(), isa);
    body();
  }
}

}  // namespace reprise::kernels
#endif
