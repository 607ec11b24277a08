// The entry of libhost_networks.so. The library has a copy of the kernels of its own, whose instruction set is chosen
// here as the program chose its own, by processor and REPRISE_ISA.

#include "absl/status/status.h"
#include "kernels/isa/isa.h"

extern "C" __attribute__((visibility("default"))) absl::Status RepriseStartHostLibrary() {
  return reprise::kernels::InitializeIsa();
}
