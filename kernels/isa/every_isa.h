#ifndef KERNELS_ISA_EVERY_ISA_H_
#define KERNELS_ISA_EVERY_ISA_H_

#include <functional>

namespace reprise::kernels {

// Runs `body` on each instruction set that this machine has, within a GoogleTest scope that names it, and prints which
// ones it had to skip. Fails the test if the kernels do not in fact run on the one that was asked for. Leaves the best
// one chosen.
void OnEveryIsa(const std::function<void()>& body);

}  // namespace reprise::kernels

#endif  // KERNELS_ISA_EVERY_ISA_H_
