#ifndef CORE_COMM_TESTING_SHARD_TREE_TESTING_H_
#define CORE_COMM_TESTING_SHARD_TREE_TESTING_H_

// A reference shard tree without ranks, and floats whose sum depends on the order of addition.

#include <cstdint>
#include <vector>

namespace reprise::testing {

// left[i] += right[i], one at a time.
void AddOneByOne(int64_t n, const float* right, float* left);

// Returns the gradient of a shard: magnitudes from 2^-12 to 2^12 and both signs, so that nearly every addition rounds.
std::vector<float> ShardGradient(uint64_t seed, int shard, int64_t size);

// Returns the plain pairwise tree sum of the gradients of shards [begin, end), whose number is a power of two.
std::vector<float> PairwiseTree(uint64_t seed, int begin, int end, int64_t size);

// Returns the bits of the floats, for comparisons in which -0 and 0 differ and equal NaNs do not.
std::vector<uint32_t> BitsOf(const std::vector<float>& values);

}  // namespace reprise::testing

#endif  // CORE_COMM_TESTING_SHARD_TREE_TESTING_H_
