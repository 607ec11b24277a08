#ifndef CORE_COMM_EXCHANGE_TREE_EXCHANGE_H_
#define CORE_COMM_EXCHANGE_TREE_EXCHANGE_H_

// The exchanges of a sharded (ZeRO-1) optimizer: gradients are summed over ranks and each rank receives the sums that
// it owns (core/comm/exchange/bucket_sum.h); later every owner's updated weights are sent to all ranks.
//
// Bytes, with N floats owned in all, F(r) of them by rank r, K(r) subtrees of rank r, K of all ranks:
//   sum             rank r sends 4 K(r) (N - F(r)), receives 4 F(r) (K - K(r))
//   AllgatherOwned  rank r receives 4 (N - F(r)); on a ring it also sends as many
// For a power of two of equally loaded ranks, K(r) = 1 and K = R: each is 4 N (R - 1) / R, as much as an Allreduce of N
// floats needs in two phases. If R is not a power of two, K(r) is at most log2 L. One rank sends and copies nothing.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "core/comm/exchange/bucket_sum.h"
#include "core/comm/exchange/exchange_plan.h"
#include "core/comm/exchange/ownership.h"
#include "core/comm/exchange/shard_map.h"
#include "core/comm/exchange/shard_tree.h"

namespace reprise {

class TreeExchange {
 public:
  // `shards` and `ownership` must be for comm->size() ranks (checked) and the same on all; so must `buckets`, a plan
  // for `ownership`. `comm` must outlive the exchange. Not collective.
  TreeExchange(Communicator* comm, const ShardMap& shards, Ownership ownership, std::vector<ExchangeBucket> buckets,
               AddFloats add);

  Communicator& comm() const { return comm_; }
  const Ownership& ownership() const { return ownership_; }

  // The sum, bucket by bucket, over the flat array of `ownership`.
  BucketSum& sum() { return sum_; }

  // Collective. Copies every rank's pieces of its `flat` to all other ranks' `flat`. Elements that no rank owns stay
  // unchanged. Errors are the communicator's.
  absl::Status AllgatherOwned(absl::Span<float> flat);

 private:
  Communicator& comm_;
  const Ownership ownership_;
  BucketSum sum_;
  std::vector<float> send_, receive_;  // kept between steps: mapping memory costs more than the copy
};

// Returns the maximum number of floats in a rank's buffers over both exchanges.
int64_t ExchangeBufferFloats(const ShardMap& shards, absl::Span<const ExchangeBucket> buckets, int rank);

}  // namespace reprise

#endif  // CORE_COMM_EXCHANGE_TREE_EXCHANGE_H_
