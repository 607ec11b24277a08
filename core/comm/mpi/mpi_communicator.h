#ifndef CORE_COMM_MPI_MPI_COMMUNICATOR_H_
#define CORE_COMM_MPI_MPI_COMMUNICATOR_H_

// A communicator whose ranks are MPI processes. Programs get theirs from core/comm/mpi/world.h.

#include <mpi.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"

namespace reprise {

// The maximum length of a message, since MPI counts with int. Tests make it small, so that small arrays use the code
// path of large ones.
inline constexpr int64_t kMpiChunkBytes = int64_t{1} << 30;

class MpiCommunicator : public Communicator {
 public:
  // Collective over the ranks of `parent`, whose messages are separate from this communicator's. `chunk_bytes`, in
  // [1, kMpiChunkBytes], must be the same on all ranks. Unavailable if MPI fails.
  static absl::StatusOr<std::unique_ptr<MpiCommunicator>> Create(MPI_Comm parent, int64_t chunk_bytes = kMpiChunkBytes);

  // Leaves the MPI communicator to MPI_Finalize: freeing it is collective, and after an error one rank may be alone
  // here.
  ~MpiCommunicator() override = default;

  void ReportFailure() override;
  bool PeerHasFailed() override;
  absl::Status TakeFailures(absl::Span<const int> ranks) override;

 private:
  MpiCommunicator(int rank, int size, int ranks_on_this_machine, MPI_Comm comm, int64_t chunk_bytes);

  // Takes over `comm`, which no other communicator uses.
  static absl::StatusOr<std::unique_ptr<MpiCommunicator>> Own(MPI_Comm comm, int ranks_on_this_machine,
                                                              int64_t chunk_bytes);

  absl::Status DoBarrier() override;
  absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) override;
  absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                         absl::Span<std::byte> receive) override;
  absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                            absl::Span<std::byte> receive) override;
  absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) override;
  absl::Status DoSumInAnyOrder(absl::Span<float> values) override;
  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override;

  // Allgatherv with blocks too large for one MPI call: each block goes round the ring of ranks.
  absl::Status RingAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                              absl::Span<std::byte> receive);

  // Messages in progress, in chunks. A block of no bytes is not a message.
  class Batch;
  class PendingBatch;

  // An Alltoallv's messages, and the copy of this rank's own block.
  absl::Status PostAlltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                             absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts, Batch* batch);

  const MPI_Comm comm_;
  const int64_t chunk_bytes_;
  const std::thread::id thread_;  // MPI_THREAD_FUNNELED: the only thread that may call MPI
};

}  // namespace reprise

#endif  // CORE_COMM_MPI_MPI_COMMUNICATOR_H_
