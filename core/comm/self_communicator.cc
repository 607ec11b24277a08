#include "core/comm/self_communicator.h"

#include <algorithm>

namespace reprise {
namespace {

class Done : public PendingCollective {
 public:
  absl::StatusOr<bool> Test() override { return true; }
  absl::Status Wait() override { return absl::OkStatus(); }
};

}  // namespace

absl::Status SelfCommunicator::DoBarrier() { return absl::OkStatus(); }

absl::Status SelfCommunicator::DoBroadcast(int, absl::Span<std::byte>) { return absl::OkStatus(); }

absl::Status SelfCommunicator::DoGatherv(int, absl::Span<const std::byte> send, absl::Span<const int64_t>,
                                         absl::Span<std::byte> receive) {
  std::copy(send.begin(), send.end(), receive.begin());
  return absl::OkStatus();
}

absl::Status SelfCommunicator::DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t>,
                                            absl::Span<std::byte> receive) {
  std::copy(send.begin(), send.end(), receive.begin());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PendingCollective>> SelfCommunicator::DoStartAlltoallv(absl::Span<const std::byte> send,
                                                                                      absl::Span<const int64_t>,
                                                                                      absl::Span<std::byte> receive,
                                                                                      absl::Span<const int64_t>) {
  std::copy(send.begin(), send.end(), receive.begin());
  return std::make_unique<Done>();
}

absl::StatusOr<std::unique_ptr<Communicator>> SelfCommunicator::DoSplit(int) {
  return std::make_unique<SelfCommunicator>(ranks_on_this_machine());
}

}  // namespace reprise
