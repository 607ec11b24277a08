#include "core/comm/agree.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/comm/collectives.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// Copies the status of rank `root`, whose code all ranks know, to every rank: its message, then the type URL and the
// content of each payload.
absl::Status BroadcastStatus(Communicator& comm, int root, absl::Status* status) {
  std::vector<std::string> parts = {std::string(status->message())};
  status->ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    parts.emplace_back(url);
    parts.emplace_back(payload);
  });
  int64_t count = static_cast<int64_t>(parts.size());
  RETURN_IF_ERROR(comm.Broadcast(root, AsWritableBytes(absl::MakeSpan(&count, 1))));
  parts.resize(static_cast<size_t>(count));
  for (std::string& part : parts) {
    ASSIGN_OR_RETURN(part, BroadcastBytes(comm, root, part));
  }
  *status = absl::Status(status->code(), parts[0]);
  for (size_t i = 1; i + 1 < parts.size(); i += 2) status->SetPayload(parts[i], absl::Cord(parts[i + 1]));
  return absl::OkStatus();
}

// Stores the agreed status. Returns the communicator's own failure, if any.
absl::Status Agree(Communicator& comm, const absl::Status& mine, absl::Status* agreed) {
  if (!mine.ok()) comm.ReportFailure();
  const int32_t code = static_cast<int32_t>(mine.code());
  std::vector<int32_t> codes(static_cast<size_t>(comm.size()));
  const std::vector<int64_t> counts(codes.size(), sizeof(int32_t));
  RETURN_IF_ERROR(
      comm.Allgatherv(AsBytes(absl::MakeConstSpan(&code, 1)), counts, AsWritableBytes(absl::MakeSpan(codes))));
  std::vector<int> failed;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (codes[rank] != 0) failed.push_back(rank);
  }
  if (failed.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(comm.TakeFailures(failed));
  // A rank that was cancelled is not the cause.
  constexpr int32_t kCancelled = static_cast<int32_t>(absl::StatusCode::kCancelled);
  const auto cause = std::find_if(failed.begin(), failed.end(), [&](int rank) { return codes[rank] != kCancelled; });
  const int root = cause == failed.end() ? failed[0] : *cause;
  const int32_t root_code = codes[root];
  absl::Status status = comm.rank() == root ? mine : absl::Status(static_cast<absl::StatusCode>(root_code), "");
  RETURN_IF_ERROR(BroadcastStatus(comm, root, &status));
  *agreed = WithContext(status, absl::StrCat("rank ", root));
  return absl::OkStatus();
}

}  // namespace

absl::Status AgreeOk(Communicator& comm, const absl::Status& status) {
  if (comm.size() == 1) return status;
  absl::Status agreed;
  const absl::Status met = Agree(comm, status, &agreed);
  if (met.ok()) return agreed;
  return status.ok() ? met : status;
}

}  // namespace reprise
