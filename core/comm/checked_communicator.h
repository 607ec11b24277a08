#ifndef CORE_COMM_CHECKED_COMMUNICATOR_H_
#define CORE_COMM_CHECKED_COMMUNICATOR_H_

// Finds collectives that do not match, where an ordinary communicator would hang or mix messages up. Before each
// collective every rank sends every other one the number of its call, its kind, its root and its size; where they
// differ, all ranks return Internal with a message that names two of the calls. It costs a small message from each rank
// to each: for debugging, and for tests.
//
// A rank that calls no collective at all is not found here, but by the watchdog (docs/watchdog.md).

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/comm/communicator.h"

namespace reprise {

class CheckedCommunicator : public Communicator {
 public:
  // `inner` must outlive this, and must not be used otherwise.
  explicit CheckedCommunicator(Communicator& inner)
      : Communicator(inner.rank(), inner.size(), inner.ranks_on_this_machine()), inner_(inner) {}
  explicit CheckedCommunicator(std::unique_ptr<Communicator> inner) : CheckedCommunicator(*inner) {
    owned_ = std::move(inner);
  }

  void ReportFailure() override { inner_.ReportFailure(); }
  bool PeerHasFailed() override { return inner_.PeerHasFailed(); }
  absl::Status TakeFailures(absl::Span<const int> ranks) override { return inner_.TakeFailures(ranks); }

 private:
  // What must be the same on all ranks.
  struct Signature {
    int64_t call = 0;
    int64_t kind = 0;  // index in kNames
    int64_t root = 0;
    int64_t bytes = 0;  // 0 where sizes may differ between ranks

    bool operator==(const Signature&) const = default;
  };
  class Check;
  class CheckedPending;

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
  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override;  // a checked one

  // Returns when all ranks have begun a call, and Internal if it is not the same one.
  absl::Status Meet(int64_t kind, int64_t root, size_t bytes);
  static std::string Describe(const Signature& signature);

  std::unique_ptr<Communicator> owned_;  // may be null
  Communicator& inner_;
};

}  // namespace reprise

#endif  // CORE_COMM_CHECKED_COMMUNICATOR_H_
