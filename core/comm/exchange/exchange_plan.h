#ifndef CORE_COMM_EXCHANGE_EXCHANGE_PLAN_H_
#define CORE_COMM_EXCHANGE_EXCHANGE_PLAN_H_

// The grouping of messages when ranks exchange a flat array. An execution choice: no bit depends on it. All ranks must
// have the same plan.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/comm/exchange/ownership.h"
#include "core/comm/exchange/shard_map.h"

namespace reprise {

// A bucket: for each rank, in order, those of its ranges that are sent to it at one time.
struct ExchangeBucket {
  std::vector<std::vector<FlatRange>> ranges;  // by owner
  std::vector<int64_t> floats;                 // by owner: the sum of their sizes
  int64_t total = 0;                           // of all owners
};

// Groups tensors in the order in which they become final: `tensors` names every tensor of the ownership's pieces once.
// A group of tensors is closed when it holds `floats_per_rank` times the number of ranks, so that it has many owners,
// and is sent in buckets of at most `floats_per_rank` per owner: a whole matrix from many ranks at once would overload
// its owner.
std::vector<ExchangeBucket> BucketsInOrder(const Ownership& ownership, absl::Span<const int> tensors,
                                           int64_t floats_per_rank);

// Returns the floats of a rank's send and receive buffers for one bucket, the maximum over all buckets: the rank sends
// K(r) slices to each other owner and receives K - K(r) slices of its own.
int64_t StagingFloats(const ShardMap& shards, absl::Span<const ExchangeBucket> buckets, int rank);

}  // namespace reprise

#endif  // CORE_COMM_EXCHANGE_EXCHANGE_PLAN_H_
