#include "core/comm/exchange/bucket_sum.h"

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

BucketSum::BucketSum(Communicator* comm, const ShardMap& shards, std::vector<ExchangeBucket> buckets, AddFloats add)
    : comm_(*comm), buckets_(std::move(buckets)), add_(std::move(add)) {
  CHECK_EQ(shards.ranks(), comm->size());
  std::vector<TreeNode> all;
  for (int rank = 0; rank < comm->size(); ++rank) {
    subtrees_.push_back(shards.SubtreesOf(rank));
    all.insert(all.end(), subtrees_.back().begin(), subtrees_.back().end());
  }
  additions_ = AdditionsToRoot(shards.shards(), all);
  for (const ExchangeBucket& bucket : buckets_) CHECK_EQ(bucket.floats.size(), subtrees_.size());
}

absl::Status BucketSum::Start(absl::Span<float* const> mine) {
  CHECK(HasRoom());
  CHECK_LT(started_, static_cast<int64_t>(buckets_.size()));
  const size_t self = static_cast<size_t>(comm_.rank());
  CHECK_EQ(mine.size(), subtrees_[self].size());
  const ExchangeBucket& bucket = buckets_[started_];
  std::unique_ptr<Slot> slot;
  if (free_slots_.empty()) {
    slot = std::make_unique<Slot>();
  } else {
    slot = std::move(free_slots_.back());
    free_slots_.pop_back();
  }
  slot->bucket = started_++;
  slot->mine.assign(mine.begin(), mine.end());
  std::vector<int64_t> send_bytes(subtrees_.size()), receive_bytes(subtrees_.size());
  int64_t received = 0;
  for (size_t peer = 0; peer < subtrees_.size(); ++peer) {
    if (peer == self) continue;
    const int64_t incoming = bucket.floats[self] * static_cast<int64_t>(subtrees_[peer].size());
    send_bytes[peer] = kFloatBytes * bucket.floats[peer] * static_cast<int64_t>(mine.size());
    receive_bytes[peer] = kFloatBytes * incoming;
    received += incoming;
  }
  Pack(bucket, slot.get());
  slot->receive.resize(static_cast<size_t>(received));
  const ExchangeScope scope(comm_);
  ASSIGN_OR_RETURN(slot->pending, comm_.StartAlltoallv(AsBytes(absl::MakeConstSpan(slot->send)), send_bytes,
                                                       AsWritableBytes(absl::MakeSpan(slot->receive)), receive_bytes));
  slots_.push_back(std::move(slot));
  return absl::OkStatus();
}

// A message contains, for each subtree of the sender, the receiver's slice of it.
void BucketSum::Pack(const ExchangeBucket& bucket, Slot* slot) const {
  const int64_t others = bucket.total - bucket.floats[comm_.rank()];
  slot->send.resize(static_cast<size_t>(others) * slot->mine.size());
  float* to = slot->send.data();
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer == comm_.rank()) continue;
    for (const float* sum : slot->mine) {
      for (const FlatRange& range : bucket.ranges[peer]) {
        CopyFloats(sum + range.offset, range.size, to);
        to += range.size;
      }
    }
  }
}

// Finishes the tree over the received slices and this rank's own, which are added in place.
void BucketSum::FinishOwned(Slot* slot) {
  const ExchangeBucket& bucket = buckets_[slot->bucket];
  const size_t self = static_cast<size_t>(comm_.rank());
  int64_t done = 0;  // of the owned slice
  std::vector<float*> sums;
  for (const FlatRange& range : bucket.ranges[self]) {
    sums.clear();
    float* received = slot->receive.data() + done;
    for (size_t peer = 0; peer < subtrees_.size(); ++peer) {
      for (size_t k = 0; k < subtrees_[peer].size(); ++k) {
        if (peer == self) {
          sums.push_back(slot->mine[k] + range.offset);
        } else {
          sums.push_back(received);
          received += bucket.floats[self];
        }
      }
    }
    for (const TreeAddition& addition : additions_) {
      add_(range.size, sums[addition.right], sums[addition.left]);
    }
    if (self != 0) {  // the total is in rank 0's first subtree's slice
      CopyFloats(sums[0], range.size, slot->mine[0] + range.offset);
    }
    done += range.size;
  }
}

void BucketSum::CloseOldest() {
  std::unique_ptr<Slot> slot = std::move(slots_.front());
  slots_.pop_front();
  slot->pending.reset();
  FinishOwned(slot.get());
  free_slots_.push_back(std::move(slot));
}

absl::Status BucketSum::Progress() {
  while (!slots_.empty()) {
    ASSIGN_OR_RETURN(const bool done, slots_.front()->pending->Test());
    if (!done) break;
    CloseOldest();
  }
  return absl::OkStatus();
}

absl::Status BucketSum::WaitForOldest() {
  CHECK(!slots_.empty());
  RETURN_IF_ERROR(slots_.front()->pending->Wait());
  CloseOldest();
  return absl::OkStatus();
}

void BucketSum::Reset() {
  CHECK(is_finished());
  started_ = 0;
}

}  // namespace reprise
