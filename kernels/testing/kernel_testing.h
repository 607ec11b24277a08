#ifndef KERNELS_TESTING_KERNEL_TESTING_H_
#define KERNELS_TESTING_KERNEL_TESTING_H_

// Helpers of all kernels' tests: reproducible random arrays, equality of bits, a loop over instruction sets, and the
// scalar form of the order contract's 64 lanes.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace reprise::testing {

// Return n floats, uniform in [low, high) or normal with the given scale. Different seeds are independent.
std::vector<float> RandomFloats(int64_t n, uint64_t seed, float low = -1.0f, float high = 1.0f);
std::vector<float> RandomNormals(int64_t n, uint64_t seed, float scale = 1.0f);

// Returns draw number `index` of `seed`, uniform in {0, ..., bound - 1}.
int64_t RandomBelow(int64_t bound, uint64_t seed, uint64_t index = 0);

// Returns success if both hold the same bits; the failure names the first difference and the number of differences. +0
// and -0 differ, and so do NaNs of different payload.
::testing::AssertionResult BitEqual(absl::Span<const float> expected, absl::Span<const float> actual);

// Returns the array with the lowest bit of one element flipped, for negative controls.
std::vector<float> WithOneBitFlipped(std::vector<float> values, int64_t index);

// Returns the largest |actual - exact| over the array; infinite if only one of the two is NaN.
double LargestError(absl::Span<const double> exact, absl::Span<const float> actual);

// Runs `body` once on each instruction set that the machine has, and restores the best one. Fails if the dispatcher
// used another set; prints the sets that were skipped.
void ForEachIsa(const std::function<void()>& body);

// A reduction over a row as the order contract defines it: element i belongs to lane i mod 64, lanes start at +0,
// elements are added to their lane in ascending order, and the lanes are added by t[i] += t[i + w] for w = 32, 16, 8,
// 4, 2, 1.
class Lanes {
 public:
  void Add(int64_t i, float value) { lane_[i % 64] += value; }
  void MulAdd(int64_t i, float a, float b);  // lane = fma(a, b, lane)
  float Sum() const;

 private:
  std::array<float, 64> lane_{};
};

}  // namespace reprise::testing

#endif  // KERNELS_TESTING_KERNEL_TESTING_H_
