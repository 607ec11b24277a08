#include "core/comm/mpi/mpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/comm/mpi/mpi_error.h"
#include "core/comm/self_communicator.h"
#include "core/machine/processors.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// Replaces `values` with their sums over all ranks, added in an order that MPI chooses: only for run.reduction =
// "fast". `chunk`: floats per MPI call. Collective. Unavailable if MPI fails.
absl::Status MpiSumInAnyOrder(MPI_Comm comm, int64_t chunk, absl::Span<float> values) {
  const int64_t count = static_cast<int64_t>(values.size());
  for (int64_t done = 0; done < count; done += chunk) {
    const int length = static_cast<int>(std::min(chunk, count - done));
    RETURN_IF_ERROR(MpiStatus(MPI_Allreduce(MPI_IN_PLACE, values.data() + done, length, MPI_FLOAT, MPI_SUM, comm),
                              "MPI_Allreduce"));
  }
  return absl::OkStatus();
}

// Returns the number of ranks of `comm` on this rank's machine that share processors with this rank, which is one of
// them: a launcher may bind each to its own. Collective. Unavailable if MPI fails.
absl::StatusOr<int> RanksThatShareProcessors(MPI_Comm comm) {
  MPI_Comm machine = MPI_COMM_NULL;
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, /*key=*/0, MPI_INFO_NULL, &machine),
                            "MPI_Comm_split_type"));
  int size = 1;
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_size(machine, &size), "MPI_Comm_size"));
  const ProcessorMask own = AllowedProcessors();
  constexpr int kWords = static_cast<int>(std::tuple_size_v<ProcessorMask>);
  std::vector<ProcessorMask> masks(static_cast<size_t>(size));
  RETURN_IF_ERROR(MpiStatus(
      MPI_Allgather(own.data(), kWords, MPI_UINT64_T, masks.data(), kWords, MPI_UINT64_T, machine), "MPI_Allgather"));
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_free(&machine), "MPI_Comm_free"));
  return static_cast<int>(
      std::count_if(masks.begin(), masks.end(), [&](const ProcessorMask& mask) { return Overlap(mask, own); }));
}

// One tag per kind is enough: between two ranks, messages arrive in the order in which they were sent.
constexpr int kTag = 1;
constexpr int kPendingTag = 2;  // of collectives that others may overtake
constexpr int kFailureTag = 3;  // of messages without content

std::vector<int64_t> OffsetsOf(absl::Span<const int64_t> counts) {
  std::vector<int64_t> offsets(counts.size());
  for (size_t r = 1; r < counts.size(); ++r) offsets[r] = offsets[r - 1] + counts[r - 1];
  return offsets;
}

void CopyBlock(absl::Span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

class MpiCommunicator::Batch {
 public:
  explicit Batch(const MpiCommunicator& owner, int tag = kTag) : owner_(owner), tag_(tag) {}

  absl::Status Send(int to, const std::byte* bytes, int64_t count) {
    for (int64_t done = 0; done < count; done += owner_.chunk_bytes_) {
      const int length = ChunkAt(done, count);
      expected_.push_back(-1);
      requests_.push_back(MPI_REQUEST_NULL);
      const int code = MPI_Isend(bytes + done, length, MPI_BYTE, to, tag_, owner_.comm_, &requests_.back());
      RETURN_IF_ERROR(MpiStatus(code, "MPI_Isend"));
    }
    return absl::OkStatus();
  }

  absl::Status Receive(int from, std::byte* bytes, int64_t count) {
    for (int64_t done = 0; done < count; done += owner_.chunk_bytes_) {
      const int length = ChunkAt(done, count);
      expected_.push_back(length);
      requests_.push_back(MPI_REQUEST_NULL);
      const int code = MPI_Irecv(bytes + done, length, MPI_BYTE, from, tag_, owner_.comm_, &requests_.back());
      RETURN_IF_ERROR(MpiStatus(code, "MPI_Irecv"));
    }
    return absl::OkStatus();
  }

  // Returns when all messages have arrived complete. Waits for each in turn, because MPI_Waitall of Open MPI 4.1 never
  // returns if a message that was too long arrived before the call.
  absl::Status Wait() {
    for (; done_ < requests_.size(); ++done_) {
      MPI_Status status;
      RETURN_IF_ERROR(MpiStatus(MPI_Wait(&requests_[done_], &status), "MPI_Wait"));
      RETURN_IF_ERROR(CheckArrived(status));
    }
    return absl::OkStatus();
  }

  // Advances the messages. Returns true when all have arrived complete.
  absl::StatusOr<bool> Test() {
    for (; done_ < requests_.size(); ++done_) {
      MPI_Status status;
      int done = 0;
      RETURN_IF_ERROR(MpiStatus(MPI_Test(&requests_[done_], &done, &status), "MPI_Test"));
      if (done == 0) return false;
      RETURN_IF_ERROR(CheckArrived(status));
    }
    return true;
  }

 private:
  int ChunkAt(int64_t done, int64_t count) const {
    return static_cast<int>(std::min(owner_.chunk_bytes_, count - done));
  }

  // Checks that request done_, which has this status, has the expected length.
  absl::Status CheckArrived(const MPI_Status& status) const {
    const int expected = expected_[done_];
    if (expected < 0) return absl::OkStatus();
    int received = 0;
    RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &received), "MPI_Get_count"));
    if (received == expected) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("rank ", status.MPI_SOURCE, " sent ", received, " bytes, ", expected, " expected"));
  }

  const MpiCommunicator& owner_;
  const int tag_;
  std::vector<MPI_Request> requests_;
  std::vector<int> expected_;  // bytes of each request that receives, -1 for one that sends
  size_t done_ = 0;            // number of finished requests
};

class MpiCommunicator::PendingBatch : public PendingCollective {
 public:
  explicit PendingBatch(const MpiCommunicator& owner) : owner_(owner), batch_(owner, kPendingTag) {}

  Batch* batch() { return &batch_; }

  absl::StatusOr<bool> Test() override {
    CHECK(std::this_thread::get_id() == owner_.thread_);
    return batch_.Test();
  }
  absl::Status Wait() override {
    CHECK(std::this_thread::get_id() == owner_.thread_);
    return batch_.Wait();
  }

 private:
  const MpiCommunicator& owner_;
  Batch batch_;
};

MpiCommunicator::MpiCommunicator(int rank, int size, int ranks_on_this_machine, MPI_Comm comm, int64_t chunk_bytes)
    : Communicator(rank, size, ranks_on_this_machine),
      comm_(comm),
      chunk_bytes_(chunk_bytes),
      thread_(std::this_thread::get_id()) {}

absl::StatusOr<std::unique_ptr<MpiCommunicator>> MpiCommunicator::Own(MPI_Comm comm, int ranks_on_this_machine,
                                                                      int64_t chunk_bytes) {
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  int rank = 0, size = 0;
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank"));
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_size(comm, &size), "MPI_Comm_size"));
  return std::unique_ptr<MpiCommunicator>(new MpiCommunicator(rank, size, ranks_on_this_machine, comm, chunk_bytes));
}

absl::StatusOr<std::unique_ptr<MpiCommunicator>> MpiCommunicator::Create(MPI_Comm parent, int64_t chunk_bytes) {
  CHECK_GE(chunk_bytes, 1);
  CHECK_LE(chunk_bytes, kMpiChunkBytes);
  MPI_Comm comm = MPI_COMM_NULL;
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup"));
  ASSIGN_OR_RETURN(const int ranks_on_this_machine, RanksThatShareProcessors(comm));
  return Own(comm, ranks_on_this_machine, chunk_bytes);
}

void MpiCommunicator::ReportFailure() {
  CHECK(std::this_thread::get_id() == thread_);
  for (int to = 0; to < size(); ++to) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (to == rank() || MPI_Isend(nullptr, 0, MPI_BYTE, to, kFailureTag, comm_, &request) != MPI_SUCCESS) continue;
    MPI_Request_free(&request);
  }
}

bool MpiCommunicator::PeerHasFailed() {
  if (std::this_thread::get_id() != thread_) return false;
  int arrived = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, comm_, &arrived, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived != 0;
}

absl::Status MpiCommunicator::TakeFailures(absl::Span<const int> ranks) {
  CHECK(std::this_thread::get_id() == thread_);
  for (const int from : ranks) {
    if (from == rank()) continue;
    const int code = MPI_Recv(nullptr, 0, MPI_BYTE, from, kFailureTag, comm_, MPI_STATUS_IGNORE);
    RETURN_IF_ERROR(MpiStatus(code, "MPI_Recv"));
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::DoBarrier() {
  CHECK(std::this_thread::get_id() == thread_);
  return MpiStatus(MPI_Barrier(comm_), "MPI_Barrier");
}

absl::Status MpiCommunicator::DoBroadcast(int root, absl::Span<std::byte> bytes) {
  CHECK(std::this_thread::get_id() == thread_);
  const int64_t count = static_cast<int64_t>(bytes.size());
  for (int64_t done = 0; done < count; done += chunk_bytes_) {
    const int length = static_cast<int>(std::min(chunk_bytes_, count - done));
    RETURN_IF_ERROR(MpiStatus(MPI_Bcast(bytes.data() + done, length, MPI_BYTE, root, comm_), "MPI_Bcast"));
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                        absl::Span<std::byte> receive) {
  CHECK(std::this_thread::get_id() == thread_);
  Batch batch(*this);
  if (rank() != root) {
    RETURN_IF_ERROR(batch.Send(root, send.data(), static_cast<int64_t>(send.size())));
    return batch.Wait();
  }
  const std::vector<int64_t> offsets = OffsetsOf(counts);
  for (int r = 0; r < size(); ++r) {
    const size_t i = static_cast<size_t>(r);
    if (r != root) RETURN_IF_ERROR(batch.Receive(r, receive.data() + offsets[i], counts[i]));
  }
  CopyBlock(send, receive.data() + offsets[root]);
  return batch.Wait();
}

absl::Status MpiCommunicator::DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                           absl::Span<std::byte> receive) {
  CHECK(std::this_thread::get_id() == thread_);
  if (static_cast<int64_t>(receive.size()) > chunk_bytes_) return RingAllgatherv(send, counts, receive);
  const std::vector<int> lengths(counts.begin(), counts.end());
  const std::vector<int64_t> offsets = OffsetsOf(counts);
  const std::vector<int> displacements(offsets.begin(), offsets.end());
  return MpiStatus(MPI_Allgatherv(send.data(), static_cast<int>(send.size()), MPI_BYTE, receive.data(), lengths.data(),
                                  displacements.data(), MPI_BYTE, comm_),
                   "MPI_Allgatherv");
}

absl::Status MpiCommunicator::RingAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                             absl::Span<std::byte> receive) {
  const std::vector<int64_t> offsets = OffsetsOf(counts);
  CopyBlock(send, receive.data() + offsets[rank()]);
  const int right = (rank() + 1) % size(), left = (rank() + size() - 1) % size();
  for (int hop = 0; hop + 1 < size(); ++hop) {
    const size_t passed_on = static_cast<size_t>((rank() + size() - hop) % size());
    const size_t taken = static_cast<size_t>((left + size() - hop) % size());
    Batch batch(*this);
    RETURN_IF_ERROR(batch.Receive(left, receive.data() + offsets[taken], counts[taken]));
    RETURN_IF_ERROR(batch.Send(right, receive.data() + offsets[passed_on], counts[passed_on]));
    RETURN_IF_ERROR(batch.Wait());
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::PostAlltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                                            absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts,
                                            Batch* batch) {
  const std::vector<int64_t> from = OffsetsOf(send_counts), to = OffsetsOf(receive_counts);
  for (int distance = 1; distance < size(); ++distance) {
    const size_t source = static_cast<size_t>((rank() + size() - distance) % size());
    RETURN_IF_ERROR(batch->Receive(static_cast<int>(source), receive.data() + to[source], receive_counts[source]));
  }
  for (int distance = 1; distance < size(); ++distance) {  // each rank starts with another peer: none is overloaded
    const size_t target = static_cast<size_t>((rank() + distance) % size());
    RETURN_IF_ERROR(batch->Send(static_cast<int>(target), send.data() + from[target], send_counts[target]));
  }
  const size_t self = static_cast<size_t>(rank());
  CopyBlock(send.subspan(static_cast<size_t>(from[self]), static_cast<size_t>(send_counts[self])),
            receive.data() + to[self]);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PendingCollective>> MpiCommunicator::DoStartAlltoallv(
    absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
    absl::Span<const int64_t> receive_counts) {
  CHECK(std::this_thread::get_id() == thread_);
  auto pending = std::make_unique<PendingBatch>(*this);
  RETURN_IF_ERROR(PostAlltoallv(send, send_counts, receive, receive_counts, pending->batch()));
  return pending;
}

absl::Status MpiCommunicator::DoSumInAnyOrder(absl::Span<float> values) {
  CHECK(std::this_thread::get_id() == thread_);
  return MpiSumInAnyOrder(comm_, std::max<int64_t>(1, chunk_bytes_ / static_cast<int64_t>(sizeof(float))), values);
}

absl::StatusOr<std::unique_ptr<Communicator>> MpiCommunicator::DoSplit(int color) {
  CHECK(std::this_thread::get_id() == thread_);
  MPI_Comm team = MPI_COMM_NULL;
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_split(comm_, color, /*key=*/rank(), &team), "MPI_Comm_split"));
  ASSIGN_OR_RETURN(std::unique_ptr<MpiCommunicator> child, Own(team, ranks_on_this_machine(), chunk_bytes_));
  if (child->size() > 1) return child;
  child.reset();
  RETURN_IF_ERROR(MpiStatus(MPI_Comm_free(&team), "MPI_Comm_free"));
  return std::make_unique<SelfCommunicator>(ranks_on_this_machine());
}

}  // namespace reprise
