#include "core/comm/communicator.h"

#include <vector>

#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// CHECKs that there is one count per rank, none is negative, and they add up to `total`.
void CheckCounts(absl::Span<const int64_t> counts, int ranks, size_t total) {
  CHECK_EQ(counts.size(), static_cast<size_t>(ranks));
  int64_t sum = 0;
  for (int64_t count : counts) {
    CHECK_GE(count, 0);
    sum += count;
  }
  CHECK_EQ(static_cast<size_t>(sum), total);
}

Traffic Message(int64_t bytes) { return {.messages = bytes > 0 ? 1 : 0, .bytes = bytes}; }

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  messages += other.messages;
  bytes += other.bytes;
  collectives += other.collectives;
  return *this;
}

Traffic operator-(const Traffic& after, const Traffic& before) {
  return {.messages = after.messages - before.messages,
          .bytes = after.bytes - before.bytes,
          .collectives = after.collectives - before.collectives};
}

Communicator::Communicator(int rank, int size, int ranks_on_this_machine)
    : rank_(rank), size_(size), ranks_on_this_machine_(ranks_on_this_machine) {
  CHECK_GE(rank, 0);
  CHECK_LT(rank, size);
  CHECK_GE(ranks_on_this_machine, 1);
}

// Only the communicator's thread writes, so that no atomic addition is needed.
void Communicator::BeginCall(const char* name) {
  last_call_.store(name, std::memory_order_relaxed);
  calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Counts one call; only on more than one rank.
void Communicator::Count(const Traffic& sent) {
  if (size_ == 1) return;
  Traffic call = sent;
  call.collectives = 1;
  traffic_ += call;
  if (exchange_scopes_ > 0) exchange_traffic_ += call;
}

Traffic Communicator::SentByAlltoallv(absl::Span<const int64_t> send_counts) const {
  Traffic sent;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) sent += Message(send_counts[rank]);
  }
  return sent;
}

// This rank forwards all blocks but the right neighbour's.
Traffic Communicator::SentByAllgatherv(absl::Span<const int64_t> counts) const {
  const int right = (rank_ + 1) % size_;
  Traffic sent;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != right) sent += Message(counts[rank]);
  }
  return sent;
}

// A ring over nearly equal blocks, one per rank: each block is summed on its way to its rank and then sent round.
Traffic Communicator::SentBySum(int64_t floats) const {
  std::vector<int64_t> bytes;
  for (int64_t rank = 0; rank < size_; ++rank) {
    bytes.push_back(static_cast<int64_t>(sizeof(float)) * (floats * (rank + 1) / size_ - floats * rank / size_));
  }
  Traffic sent = SentByAlltoallv(bytes);
  sent += SentByAllgatherv(bytes);
  return sent;
}

absl::Status Communicator::Barrier() {
  BeginCall("Barrier");
  return DoBarrier();
}

absl::Status Communicator::Broadcast(int root, absl::Span<std::byte> bytes) {
  CHECK_GE(root, 0);
  CHECK_LT(root, size_);
  Traffic sent;
  for (int to = 1; rank_ == root && to < size_; ++to) sent += Message(static_cast<int64_t>(bytes.size()));
  Count(sent);
  BeginCall("Broadcast");
  return DoBroadcast(root, bytes);
}

absl::Status Communicator::Gatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                   absl::Span<std::byte> receive) {
  CHECK_GE(root, 0);
  CHECK_LT(root, size_);
  if (rank_ == root) {
    CheckCounts(counts, size_, receive.size());
    CHECK_EQ(static_cast<size_t>(counts[rank_]), send.size());
  }
  Count(rank_ == root ? Traffic() : Message(static_cast<int64_t>(send.size())));
  BeginCall("Gatherv");
  return DoGatherv(root, send, counts, receive);
}

absl::Status Communicator::Allgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                      absl::Span<std::byte> receive) {
  CheckCounts(counts, size_, receive.size());
  CHECK_EQ(static_cast<size_t>(counts[rank_]), send.size());
  Count(SentByAllgatherv(counts));
  BeginCall("Allgatherv");
  return DoAllgatherv(send, counts, receive);
}

absl::Status Communicator::Alltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                                     absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PendingCollective> pending,
                   StartAlltoallv(send, send_counts, receive, receive_counts));
  return pending->Wait();
}

absl::StatusOr<std::unique_ptr<PendingCollective>> Communicator::StartAlltoallv(
    absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
    absl::Span<const int64_t> receive_counts) {
  CheckCounts(send_counts, size_, send.size());
  CheckCounts(receive_counts, size_, receive.size());
  const size_t self = static_cast<size_t>(rank_);
  CHECK_EQ(send_counts[self], receive_counts[self]);
  Count(SentByAlltoallv(send_counts));
  BeginCall("StartAlltoallv");
  return DoStartAlltoallv(send, send_counts, receive, receive_counts);
}

absl::Status Communicator::SumInAnyOrder(absl::Span<float> values) {
  if (size_ == 1) return absl::OkStatus();
  Count(SentBySum(static_cast<int64_t>(values.size())));
  BeginCall("SumInAnyOrder");
  return DoSumInAnyOrder(values);
}

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Split(int color) {
  CHECK_GE(color, 0);
  BeginCall("Split");
  return DoSplit(color);
}

}  // namespace reprise
