#ifndef CORE_COMM_TESTING_SHARD_TREE_TESTING_H_
#define CORE_COMM_TESTING_SHARD_TREE_TESTING_H_

// A reference shard tree without ranks, floats whose sum depends on the order of addition, and a whole exchange.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/comm/exchange/tree_exchange.h"

namespace reprise::testing {

// left[i] += right[i], one at a time.
void AddOneByOne(int64_t n, const float* right, float* left);

// Returns the gradient of a shard: magnitudes from 2^-12 to 2^12 and both signs, so that nearly every addition rounds.
std::vector<float> ShardGradient(uint64_t seed, int shard, int64_t size);

// Returns the plain pairwise tree sum of the gradients of shards [begin, end), whose number is a power of two.
std::vector<float> PairwiseTree(uint64_t seed, int begin, int end, int64_t size);

// Returns the bits of the floats, for comparisons in which -0 and 0 differ and equal NaNs do not.
std::vector<uint32_t> BitsOf(const std::vector<float>& values);

// Returns a plan in the order of the tensors in the flat array.
std::vector<ExchangeBucket> BucketsOf(const Ownership& ownership, int64_t floats_per_rank);

// Starts all buckets and finishes them. `mine` is this rank's ShardTreeAccumulator::Take(). Afterwards mine[0].sum
// holds the total over all shards where this rank owns it; everything else in `mine` is unspecified. Collective. Errors
// are the communicator's.
absl::Status SumOwned(absl::Span<SubtreeSum> mine, TreeExchange* exchange);

}  // namespace reprise::testing

#endif  // CORE_COMM_TESTING_SHARD_TREE_TESTING_H_
