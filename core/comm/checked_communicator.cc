#include "core/comm/checked_communicator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

enum Kind : int64_t { kBarrier, kBroadcast, kGatherv, kAllgatherv, kAlltoallv, kSum, kSplit };
constexpr const char* kNames[] = {"Barrier",   "Broadcast",     "Gatherv", "Allgatherv",
                                  "Alltoallv", "SumInAnyOrder", "Split"};

}  // namespace

// The exchange of the ranks' signatures for one call. All kinds of calls use the same exchange, so that it matches even
// where the calls do not.
class CheckedCommunicator::Check {
 public:
  static absl::StatusOr<std::unique_ptr<Check>> Start(const Signature& mine, Communicator& comm) {
    auto check = std::make_unique<Check>(mine, comm.size());
    const std::vector<int64_t> counts(check->mine_R_.size(), sizeof(Signature));
    ASSIGN_OR_RETURN(check->pending_, comm.StartAlltoallv(AsBytes(absl::MakeConstSpan(check->mine_R_)), counts,
                                                          AsWritableBytes(absl::MakeSpan(check->all_R_)), counts));
    return check;
  }

  Check(const Signature& mine, int ranks) : mine_R_(static_cast<size_t>(ranks), mine), all_R_(mine_R_.size()) {}

  // Returns whether the signatures of all ranks are here; Internal if they differ.
  absl::StatusOr<bool> Test() {
    if (is_done_) return true;
    ASSIGN_OR_RETURN(is_done_, pending_->Test());
    if (is_done_) RETURN_IF_ERROR(Compare());
    return is_done_;
  }
  absl::Status Wait() {
    if (is_done_) return absl::OkStatus();
    RETURN_IF_ERROR(pending_->Wait());
    is_done_ = true;
    return Compare();
  }

 private:
  // All ranks compare the same signatures, and return the same error.
  absl::Status Compare() const {
    const auto other = std::find_if(all_R_.begin(), all_R_.end(), [&](const Signature& s) { return s != all_R_[0]; });
    if (other == all_R_.end()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the ranks' collectives do not match: rank 0 is in ", Describe(all_R_[0]),
                                            ", rank ", other - all_R_.begin(), " in ", Describe(*other)));
  }

  const std::vector<Signature> mine_R_;  // a copy for each rank
  std::vector<Signature> all_R_;
  std::unique_ptr<PendingCollective> pending_;
  bool is_done_ = false;
};

// An Alltoallv, and the check that all ranks have started it.
class CheckedCommunicator::CheckedPending : public PendingCollective {
 public:
  CheckedPending(std::unique_ptr<Check> check, std::unique_ptr<PendingCollective> work)
      : check_(std::move(check)), work_(std::move(work)) {}

  absl::StatusOr<bool> Test() override {
    ASSIGN_OR_RETURN(const bool is_checked, check_->Test());
    if (!is_checked) return false;
    return work_->Test();
  }
  absl::Status Wait() override {
    RETURN_IF_ERROR(check_->Wait());
    return work_->Wait();
  }

 private:
  const std::unique_ptr<Check> check_;
  const std::unique_ptr<PendingCollective> work_;
};

std::string CheckedCommunicator::Describe(const Signature& signature) {
  std::string text = absl::StrCat("its call ", signature.call, ", ", kNames[signature.kind]);
  if (signature.kind == kBroadcast || signature.kind == kGatherv) absl::StrAppend(&text, " with root ", signature.root);
  if (signature.bytes > 0) absl::StrAppend(&text, " of ", signature.bytes, " bytes");
  return text;
}

absl::Status CheckedCommunicator::Meet(int64_t kind, int64_t root, size_t bytes) {
  const Signature mine = {position().calls, kind, root, static_cast<int64_t>(bytes)};
  ASSIGN_OR_RETURN(const std::unique_ptr<Check> check, Check::Start(mine, inner_));
  return check->Wait();
}

absl::Status CheckedCommunicator::DoBarrier() {
  RETURN_IF_ERROR(Meet(kBarrier, 0, 0));
  return inner_.Barrier();
}

absl::Status CheckedCommunicator::DoBroadcast(int root, absl::Span<std::byte> bytes) {
  RETURN_IF_ERROR(Meet(kBroadcast, root, bytes.size()));
  return inner_.Broadcast(root, bytes);
}

absl::Status CheckedCommunicator::DoGatherv(int root, absl::Span<const std::byte> send,
                                            absl::Span<const int64_t> counts, absl::Span<std::byte> receive) {
  RETURN_IF_ERROR(Meet(kGatherv, root, 0));
  return inner_.Gatherv(root, send, counts, receive);
}

absl::Status CheckedCommunicator::DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                               absl::Span<std::byte> receive) {
  RETURN_IF_ERROR(Meet(kAllgatherv, 0, receive.size()));
  return inner_.Allgatherv(send, counts, receive);
}

// Does not wait for the other ranks: the check ends with the collective.
absl::StatusOr<std::unique_ptr<PendingCollective>> CheckedCommunicator::DoStartAlltoallv(
    absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
    absl::Span<const int64_t> receive_counts) {
  ASSIGN_OR_RETURN(std::unique_ptr<Check> check, Check::Start({position().calls, kAlltoallv, 0, 0}, inner_));
  ASSIGN_OR_RETURN(std::unique_ptr<PendingCollective> work,
                   inner_.StartAlltoallv(send, send_counts, receive, receive_counts));
  return std::make_unique<CheckedPending>(std::move(check), std::move(work));
}

absl::Status CheckedCommunicator::DoSumInAnyOrder(absl::Span<float> values) {
  RETURN_IF_ERROR(Meet(kSum, 0, values.size() * sizeof(float)));
  return inner_.SumInAnyOrder(values);
}

absl::StatusOr<std::unique_ptr<Communicator>> CheckedCommunicator::DoSplit(int color) {
  RETURN_IF_ERROR(Meet(kSplit, /*root=*/0, /*bytes=*/0));
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> team, inner_.Split(color));
  return std::make_unique<CheckedCommunicator>(std::move(team));
}

}  // namespace reprise
