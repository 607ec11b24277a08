#ifndef KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
#define KERNELS_CONTRACT_NUMERIC_CONTRACT_H_

#include <cstdint>

namespace reprise {

// The version of everything that determines result bits: orders of sums, elementary functions, random numbers. Every
// intended change of results increments it. It is stored with every run: equal bits are guaranteed within one version.
inline constexpr int64_t kNumericContract = 1;

namespace kernels {

// Maximum length of a chain of fused multiply-adds in matrix products and attention: the chain then restarts, and the
// segments' sums are added in order.
inline constexpr int64_t kSegment = 512;

}  // namespace kernels

}  // namespace reprise

#endif  // KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
