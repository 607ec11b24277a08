#ifndef KERNELS_SAMPLING_WEIGHTS_H_
#define KERNELS_SAMPLING_WEIGHTS_H_

// The vector part of sampling: unnormalised probabilities e_v = exp(z_v - max) in blocks of 64 tokens.

#include <cstdint>

namespace reprise::kernels::internal {

inline constexpr int64_t kSamplingBlock = 64;  // part of the numeric contract

// z /= temperature; IEEE division, as the lm-head does it.
void DivideBy(float temperature, int64_t n, float* z);

// block_sums[i] = sum of e_v over tokens [64 i, 64 i + 64), one a lane. ceil(n / 64) sums.
void SumWeightsByBlock(int64_t n, const float* z, float max, float* block_sums);

// e[v] of n <= 64 tokens.
void WeightsOfBlock(int64_t n, const float* z, float max, float* e);

}  // namespace reprise::kernels::internal

#endif  // KERNELS_SAMPLING_WEIGHTS_H_
