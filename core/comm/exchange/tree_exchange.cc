#include "core/comm/exchange/tree_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

void CopyFloats(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

TreeExchange::TreeExchange(Communicator* comm, const ShardMap& shards, Ownership ownership,
                           std::vector<ExchangeBucket> buckets, AddFloats add)
    : comm_(*comm), ownership_(std::move(ownership)), sum_(comm, shards, std::move(buckets), std::move(add)) {
  CHECK_EQ(ownership_.ranks(), comm->size());
}

absl::Status TreeExchange::AllgatherOwned(absl::Span<float> flat) {
  CHECK_GE(static_cast<int64_t>(flat.size()), ownership_.FlatEnd());
  if (comm_.size() == 1) return absl::OkStatus();
  const size_t self = static_cast<size_t>(comm_.rank());
  const ExchangeScope scope(comm_);
  std::vector<int64_t> bytes;
  for (const ExchangeBucket& bucket : sum_.buckets()) {
    bytes.clear();
    for (int64_t floats : bucket.floats) bytes.push_back(kFloatBytes * floats);
    send_.resize(static_cast<size_t>(bucket.floats[self]));
    float* to = send_.data();
    for (const FlatRange& range : bucket.ranges[self]) {
      CopyFloats(flat.data() + range.offset, range.size, to);
      to += range.size;
    }
    receive_.resize(static_cast<size_t>(bucket.total));
    RETURN_IF_ERROR(
        comm_.Allgatherv(AsBytes(absl::MakeConstSpan(send_)), bytes, AsWritableBytes(absl::MakeSpan(receive_))));
    const float* from = receive_.data();
    for (size_t rank = 0; rank < bucket.ranges.size(); ++rank) {
      for (const FlatRange& range : bucket.ranges[rank]) {
        if (rank != self) CopyFloats(from, range.size, flat.data() + range.offset);
        from += range.size;
      }
    }
  }
  return absl::OkStatus();
}

int64_t ExchangeBufferFloats(const ShardMap& shards, absl::Span<const ExchangeBucket> buckets, int rank) {
  if (shards.ranks() == 1) return 0;
  int64_t gathered = 0;
  for (const ExchangeBucket& bucket : buckets) {
    gathered = std::max(gathered, bucket.total + bucket.floats[rank]);
  }
  const int64_t under_way = std::min<int64_t>(kBucketsUnderWay, static_cast<int64_t>(buckets.size()));
  return under_way * StagingFloats(shards, buckets, rank) + gathered;
}

}  // namespace reprise
