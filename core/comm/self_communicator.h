#ifndef CORE_COMM_SELF_COMMUNICATOR_H_
#define CORE_COMM_SELF_COMMUNICATOR_H_

#include <memory>

#include "core/comm/communicator.h"

namespace reprise {

// The communicator of a single rank: copies from `send` to `receive` and never fails. Thread-safe.
class SelfCommunicator : public Communicator {
 public:
  // `ranks_on_this_machine`: more than one for a team of one rank.
  explicit SelfCommunicator(int ranks_on_this_machine = 1)
      : Communicator(/*rank=*/0, /*size=*/1, ranks_on_this_machine) {}

 private:
  absl::Status DoBarrier() override;
  absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) override;
  absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                         absl::Span<std::byte> receive) override;
  absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                            absl::Span<std::byte> receive) override;
  absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) override;
  absl::Status DoSumInAnyOrder(absl::Span<float>) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override;
};

}  // namespace reprise

#endif  // CORE_COMM_SELF_COMMUNICATOR_H_
