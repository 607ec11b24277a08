#ifndef CORE_COMM_TREE_EXCHANGE_H_
#define CORE_COMM_TREE_EXCHANGE_H_

// Sums gradients over ranks with the bits of one fixed tree over logical shards, and hands each rank what it owns.
//
// Every rank brings the sums of its maximal aligned subtrees (core/comm/shard_tree.h); they cut the shard tree, so the
// additions above them are the same for any number of ranks. Each owner receives its pieces of every subtree and makes
// these additions: the total's bits are those of the plain pairwise tree over all L shards. Later every owner's updated
// weights go to all. Together this is a sharded (ZeRO-1) optimizer.
//
// Bytes, with N floats owned in all, F(r) of them by rank r, K(r) subtrees of rank r, K of all ranks:
//   SumOwned        rank r sends 4 K(r) (N - F(r)), receives 4 F(r) (K - K(r))
//   AllgatherOwned  rank r receives 4 (N - F(r)); so many also leave it when they travel round a ring
// For a power of two of equally loaded ranks, K(r) = 1 and K = R: each is 4 N (R - 1) / R, as much as an Allreduce of N
// floats needs in two phases. Where R is no power of two, K(r) is at most log2 L. One rank sends and copies nothing.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "core/comm/ownership.h"
#include "core/comm/shard_map.h"
#include "core/comm/shard_tree.h"

namespace reprise {

// Floats of one owner that are under way at a time. An execution choice: it bounds the staging memory of a rank, to
// 4 * kFloatsPerRound * (K(r) * (R - 1) + K - K(r)) bytes, and cannot change a bit.
inline constexpr int64_t kFloatsPerRound = int64_t{1} << 20;

class TreeExchange {
 public:
  // `shards` and `ownership` are for comm->size() ranks (checked) and the same on all; so is `floats_per_round`, >= 1.
  // `comm` must outlive the exchange. Independent.
  TreeExchange(Communicator* comm, const ShardMap& shards, Ownership ownership, AddFloats add,
               int64_t floats_per_round = kFloatsPerRound);

  const Ownership& ownership() const { return ownership_; }

  // Collective. `mine` is this rank's ShardTreeAccumulator::Take(), over the flat array of `ownership`. Afterwards
  // mine[0].sum holds the total over all shards where this rank owns it; everything else in `mine` is unspecified.
  // Errors are the communicator's.
  absl::Status SumOwned(absl::Span<SubtreeSum> mine);

  // Collective. Copies every rank's pieces of its `flat` to all other ranks' `flat`. Elements that no rank owns stay as
  // they are. Errors are the communicator's.
  absl::Status AllgatherOwned(absl::Span<float> flat);

 private:
  struct Round;

  void PackSubtrees(const Round& round, absl::Span<const SubtreeSum> mine);
  void FinishOwned(const Round& round, absl::Span<SubtreeSum> mine);

  // Elements of rank r's stream that are under way in this round.
  int64_t FloatsOfRound(int rank, const Round& round) const;
  int64_t Rounds() const;

  Communicator& comm_;
  const Ownership ownership_;
  const AddFloats add_;
  const int64_t floats_per_round_;
  std::vector<std::vector<TreeNode>> subtrees_;  // by rank
  std::vector<TreeAddition> additions_;          // over the subtrees of all ranks
  std::vector<float> send_, receive_;            // kept between steps: mapping memory costs more than the copy
};

}  // namespace reprise

#endif  // CORE_COMM_TREE_EXCHANGE_H_
