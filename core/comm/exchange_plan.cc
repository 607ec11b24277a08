#include "core/comm/exchange_plan.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise {
namespace {

ExchangeBucket EmptyBucket(int ranks) {
  ExchangeBucket bucket;
  bucket.ranges.resize(static_cast<size_t>(ranks));
  bucket.floats.resize(static_cast<size_t>(ranks));
  return bucket;
}

void Add(int owner, const FlatRange& range, ExchangeBucket* bucket) {
  bucket->ranges[static_cast<size_t>(owner)].push_back(range);
  bucket->floats[static_cast<size_t>(owner)] += range.size;
  bucket->total += range.size;
}

}  // namespace

std::vector<ExchangeBucket> BucketsByRound(const Ownership& ownership, int64_t floats_per_round) {
  CHECK_GE(floats_per_round, 1);
  std::vector<ExchangeBucket> buckets;
  for (int64_t begin = 0; begin < ownership.MaxFloats(); begin += floats_per_round) {
    buckets.push_back(EmptyBucket(ownership.ranks()));
    for (int rank = 0; rank < ownership.ranks(); ++rank) {
      for (const FlatRange& range : ownership.StreamSlice(rank, begin, begin + floats_per_round)) {
        Add(rank, range, &buckets.back());
      }
    }
  }
  return buckets;
}

std::vector<ExchangeBucket> BucketsInOrder(const Ownership& ownership, absl::Span<const int> tensors,
                                           int64_t floats_per_rank) {
  CHECK_GE(floats_per_rank, 1);
  std::vector<std::vector<Piece>> pieces_of(tensors.size());  // by tensor
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) {
      CHECK_LT(piece.tensor, static_cast<int>(tensors.size()));
      pieces_of[static_cast<size_t>(piece.tensor)].push_back(piece);
    }
  }
  std::vector<ExchangeBucket> buckets;
  for (int tensor : tensors) {
    for (const Piece& piece : pieces_of[static_cast<size_t>(tensor)]) {
      if (buckets.empty() || buckets.back().total >= floats_per_rank * ownership.ranks()) {
        buckets.push_back(EmptyBucket(ownership.ranks()));
      }
      Add(piece.owner, {piece.offset, piece.size}, &buckets.back());
    }
  }
  return buckets;
}

int64_t StagingFloats(const ShardMap& shards, absl::Span<const ExchangeBucket> buckets, int rank) {
  if (shards.ranks() == 1) return 0;
  int64_t all = 0, most = 0;
  for (int r = 0; r < shards.ranks(); ++r) all += static_cast<int64_t>(shards.SubtreesOf(r).size());
  const int64_t own = static_cast<int64_t>(shards.SubtreesOf(rank).size());
  for (const ExchangeBucket& bucket : buckets) {
    const int64_t mine = bucket.floats[static_cast<size_t>(rank)];
    most = std::max(most, own * (bucket.total - mine) + (all - own) * mine);
  }
  return most;
}

}  // namespace reprise
