#include "core/comm/communicator.h"

#include "core/status/check.h"

namespace reprise {
namespace {

// Dies unless there is one count a rank, none is negative, and they add up to `total`.
void CheckCounts(absl::Span<const int64_t> counts, int ranks, size_t total) {
  CHECK_EQ(counts.size(), static_cast<size_t>(ranks));
  int64_t sum = 0;
  for (int64_t count : counts) {
    CHECK_GE(count, 0);
    sum += count;
  }
  CHECK_EQ(static_cast<size_t>(sum), total);
}

}  // namespace

Communicator::Communicator(int rank, int size) : rank_(rank), size_(size) {
  CHECK_GE(rank, 0);
  CHECK_LT(rank, size);
}

void Communicator::CountMessage(int64_t bytes) {
  traffic_.messages += bytes > 0 ? 1 : 0;
  traffic_.bytes += bytes;
}

void Communicator::CountAlltoallv(absl::Span<const int64_t> send_counts) {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) CountMessage(send_counts[static_cast<size_t>(rank)]);
  }
}

absl::Status Communicator::Barrier() { return DoBarrier(); }

absl::Status Communicator::Broadcast(int root, absl::Span<std::byte> bytes) {
  CHECK_GE(root, 0);
  CHECK_LT(root, size_);
  for (int to = 1; rank_ == root && to < size_; ++to) CountMessage(static_cast<int64_t>(bytes.size()));
  return DoBroadcast(root, bytes);
}

absl::Status Communicator::Gatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                   absl::Span<std::byte> receive) {
  CHECK_GE(root, 0);
  CHECK_LT(root, size_);
  if (rank_ == root) {
    CheckCounts(counts, size_, receive.size());
    CHECK_EQ(static_cast<size_t>(counts[static_cast<size_t>(rank_)]), send.size());
  }
  if (rank_ != root) CountMessage(static_cast<int64_t>(send.size()));
  return DoGatherv(root, send, counts, receive);
}

absl::Status Communicator::Allgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                      absl::Span<std::byte> receive) {
  CheckCounts(counts, size_, receive.size());
  CHECK_EQ(static_cast<size_t>(counts[static_cast<size_t>(rank_)]), send.size());
  // All blocks but the right neighbour's pass by here.
  const int right = (rank_ + 1) % size_;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != right) CountMessage(counts[static_cast<size_t>(rank)]);
  }
  return DoAllgatherv(send, counts, receive);
}

void Communicator::CheckAlltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                                  absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts) const {
  CheckCounts(send_counts, size_, send.size());
  CheckCounts(receive_counts, size_, receive.size());
  const size_t self = static_cast<size_t>(rank_);
  CHECK_EQ(send_counts[self], receive_counts[self]);
}

absl::Status Communicator::Alltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                                     absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts) {
  CheckAlltoallv(send, send_counts, receive, receive_counts);
  CountAlltoallv(send_counts);
  return DoAlltoallv(send, send_counts, receive, receive_counts);
}

absl::StatusOr<std::unique_ptr<PendingCollective>> Communicator::StartAlltoallv(
    absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
    absl::Span<const int64_t> receive_counts) {
  CheckAlltoallv(send, send_counts, receive, receive_counts);
  CountAlltoallv(send_counts);
  return DoStartAlltoallv(send, send_counts, receive, receive_counts);
}

absl::Status Communicator::SumInAnyOrder(absl::Span<float> values) {
  return size_ == 1 ? absl::OkStatus() : DoSumInAnyOrder(values);
}

}  // namespace reprise
