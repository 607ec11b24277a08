#ifndef CORE_COMM_TESTING_TREE_EXCHANGE_CHECK_H_
#define CORE_COMM_TESTING_TREE_EXCHANGE_CHECK_H_

#include <cstdint>
#include <vector>

#include "core/comm/communicator.h"
#include "core/comm/exchange/ownership.h"

namespace reprise::testing {

// Returns tensors of several shapes with gaps between them, one of them divisible and large.
std::vector<TensorExtent> ExampleTensors();

// Collective. Computes, accumulates and exchanges the gradients of `shards` >= comm.size() logical shards over
// ExampleTensors, then gathers the totals. Expects, through GoogleTest, that every rank ends with the bits of the plain
// pairwise tree over the shards, and that elements without an owner are unchanged.
void CheckTreeExchange(Communicator& comm, uint64_t seed, int shards, int64_t floats_per_round);

}  // namespace reprise::testing

#endif  // CORE_COMM_TESTING_TREE_EXCHANGE_CHECK_H_
