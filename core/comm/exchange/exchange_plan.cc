#include "core/comm/exchange/exchange_plan.h"

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
  bucket->ranges[owner].push_back(range);
  bucket->floats[owner] += range.size;
  bucket->total += range.size;
}

// Splits every owner's pieces of a group, concatenated, into slices of at most `most` floats; the i-th slices of all
// owners form a bucket.
void AppendSlices(const std::vector<Piece>& group, int ranks, int64_t most, std::vector<ExchangeBucket>* buckets) {
  const size_t first = buckets->size();
  std::vector<int64_t> filled(static_cast<size_t>(ranks));  // of each owner, over the group's buckets
  for (const Piece& piece : group) {
    int64_t& begin = filled[piece.owner];
    for (int64_t done = 0; done < piece.size;) {
      const size_t bucket = first + static_cast<size_t>(begin / most);
      while (buckets->size() <= bucket) buckets->push_back(EmptyBucket(ranks));
      const int64_t floats = std::min(piece.size - done, most - begin % most);
      Add(piece.owner, {piece.offset + done, floats}, &(*buckets)[bucket]);
      done += floats;
      begin += floats;
    }
  }
}

}  // namespace

std::vector<ExchangeBucket> BucketsInOrder(const Ownership& ownership, absl::Span<const int> tensors,
                                           int64_t floats_per_rank) {
  CHECK_GE(floats_per_rank, 1);
  std::vector<std::vector<Piece>> pieces_of(tensors.size());  // by tensor
  for (int rank = 0; rank < ownership.ranks(); ++rank) {
    for (const Piece& piece : ownership.PiecesOf(rank)) {
      CHECK_LT(piece.tensor, static_cast<int>(tensors.size()));
      pieces_of[piece.tensor].push_back(piece);
    }
  }
  std::vector<ExchangeBucket> buckets;
  std::vector<Piece> group;
  int64_t total = 0;
  const auto close = [&] {
    AppendSlices(group, ownership.ranks(), floats_per_rank, &buckets);
    group.clear();
    total = 0;
  };
  for (int tensor : tensors) {
    for (const Piece& piece : pieces_of[tensor]) {
      group.push_back(piece);
      total += piece.size;
      if (total >= floats_per_rank * ownership.ranks()) close();
    }
  }
  close();
  return buckets;
}

int64_t StagingFloats(const ShardMap& shards, absl::Span<const ExchangeBucket> buckets, int rank) {
  if (shards.ranks() == 1) return 0;
  int64_t all = 0, most = 0;
  for (int r = 0; r < shards.ranks(); ++r) all += static_cast<int64_t>(shards.SubtreesOf(r).size());
  const int64_t own = static_cast<int64_t>(shards.SubtreesOf(rank).size());
  for (const ExchangeBucket& bucket : buckets) {
    const int64_t mine = bucket.floats[rank];
    most = std::max(most, own * (bucket.total - mine) + (all - own) * mine);
  }
  return most;
}

}  // namespace reprise
