#ifndef KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
#define KERNELS_CONTRACT_NUMERIC_CONTRACT_H_

#include <cstdint>

namespace reprise {

// The version of everything that decides bits: orders of sums, elementary functions, random numbers. Raised by every
// intended change of results, and stored with every run: bits are promised within one version only.
inline constexpr int64_t kNumericContract = 2;

namespace kernels {

// Length of every chain of fused multiply-adds, of matrix products and of attention: it then starts anew, and the
// segments' sums are added in order.
inline constexpr int64_t kSegment = 512;

}  // namespace kernels

}  // namespace reprise

#endif  // KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
