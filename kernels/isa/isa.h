#ifndef KERNELS_ISA_ISA_H_
#define KERNELS_ISA_ISA_H_

// Which instruction set the kernels run on. It changes speed and never a bit: vectors run over outputs, reductions use
// a fixed number of virtual lanes (docs/determinism.md).

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise::kernels {

enum class Isa { kAvx2, kAvx512 };

absl::string_view NameOf(Isa isa);  // "avx2", "avx512"

// Chooses the kernels' instruction set: the best that the machine has, or what the environment variable REPRISE_ISA
// (avx2 | avx512) limits it to. FailedPrecondition when the CPU lacks AVX2 or FMA, InvalidArgument for another value of
// the variable or an instruction set that the machine lacks. Called once by every program before any kernel.
absl::Status InitializeIsa();

Isa ActiveIsa();                   // the instruction set in force
std::vector<Isa> AvailableIsas();  // what this machine can run, slowest first
void SetIsaForTest(Isa isa);       // must be one of AvailableIsas(); not while kernels run

}  // namespace reprise::kernels

#endif  // KERNELS_ISA_ISA_H_
