#ifndef KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
#define KERNELS_CONTRACT_NUMERIC_CONTRACT_H_

#include <cstdint>

namespace reprise {

// The version of everything that decides bits: orders of sums, elementary functions, random numbers. Raised by every
// intended change of results, and stored with every run: bits are promised within one version only.
inline constexpr int64_t kNumericContract = 1;

}  // namespace reprise

#endif  // KERNELS_CONTRACT_NUMERIC_CONTRACT_H_
