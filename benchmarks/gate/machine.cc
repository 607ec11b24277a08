// machine: prints what a gate must know of this machine as the programs that it measures see it: the instruction set of
// the kernels, which REPRISE_ISA limits, and the processors that control groups leave.

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "core/machine/processors.h"
#include "core/status/conditions.h"
#include "kernels/isa/isa.h"

int main() {
  if (const absl::Status isa = reprise::kernels::InitializeIsa(); !isa.ok()) {
    std::fprintf(stderr, "%s\n", std::string(isa.message()).c_str());
    return reprise::ExitCodeOf(isa);
  }
  const std::string name(reprise::kernels::NameOf(reprise::kernels::ActiveIsa()));
  std::printf("{\"instruction_set\": \"%s\", \"processors\": %d}\n", name.c_str(), reprise::UsableProcessors());
  return 0;
}
