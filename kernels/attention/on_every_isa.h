#ifndef KERNELS_ATTENTION_ON_EVERY_ISA_H_
#define KERNELS_ATTENTION_ON_EVERY_ISA_H_

#include <algorithm>
#include <iostream>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/isa/isa.h"

namespace reprise::kernels::testing {

// Runs `check` on every instruction set that this machine has, and says which it has not.
template <typename Check>
void OnEveryIsa(const Check& check) {
  const std::vector<Isa> available = AvailableIsas();
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (std::find(available.begin(), available.end(), isa) == available.end()) {
      std::cout << "skipped: this machine has no " << NameOf(isa) << "\n";
      continue;
    }
    SetIsaForTest(isa);
    ASSERT_EQ(ActiveIsa(), isa);
    SCOPED_TRACE(NameOf(isa));
    check();
  }
}

}  // namespace reprise::kernels::testing

#endif  // KERNELS_ATTENTION_ON_EVERY_ISA_H_
