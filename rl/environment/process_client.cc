#include "rl/environment/process_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

constexpr size_t kShownBytes = 200;

// On one line; bytes that are not UTF-8 become U+FFFD.
std::string Text(const nlohmann::json& request) {
  return request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status CheckReply(const std::string& line, int64_t id,
                        const std::function<absl::Status(const JsonValue& reply)>& take) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(line));
  const JsonValue reply = document.root();
  ASSIGN_OR_RETURN(const JsonValue replied, reply.Get("id"));
  RETURN_IF_ERROR(replied.Integer(id, id).status());
  return take(reply);
}

std::string Shown(const std::string& line) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(line.substr(0, kShownBytes)), line.size() > kShownBytes ? "..." : "",
                      "\"");
}

}  // namespace

absl::StatusOr<ProcessClient::Lease> ProcessClient::Take() {
  Lease lease;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lease.id = next_id_++;
    if (!idle_.empty()) {
      lease.process = std::move(idle_.back());
      idle_.pop_back();
      return lease;
    }
    ++started_;
  }
  ASSIGN_OR_RETURN(lease.process, ChildProcess::Start(options_.command));
  return lease;
}

void ProcessClient::GiveBack(std::unique_ptr<ChildProcess> process) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(process));
}

absl::Status ProcessClient::Ask(nlohmann::json request, absl::string_view whose,
                                const std::function<absl::Status(const JsonValue& reply)>& take) {
  const auto failed = [&](const absl::Status& status, absl::string_view what) {
    return absl::Status(status.code(), absl::StrCat("the process \"", options_.command, "\" ", what, status.message(),
                                                    ", asked about ", whose));
  };
  for (int64_t restarts = 0;; ++restarts) {
    ASSIGN_OR_RETURN(Lease lease, Take());  // a reply to an older request would have another id
    request["id"] = lease.id;
    const absl::StatusOr<std::string> line = lease.process->Exchange(Text(request), options_.seconds);
    if (line.ok()) {
      const absl::Status taken = CheckReply(*line, lease.id, take);
      if (!taken.ok()) {
        return failed(absl::DataLossError(taken.message()), absl::StrCat("replied ", Shown(*line), ": "));
      }
      GiveBack(std::move(lease.process));
      return absl::OkStatus();
    }
    const bool is_gone = absl::IsAborted(line.status()) || absl::IsDeadlineExceeded(line.status());
    if (!is_gone || restarts == options_.restarts) return failed(line.status(), "");
  }
}

absl::Status CheckMembers(const JsonValue& object, const std::vector<absl::string_view>& known) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  for (const auto& [name, value] : members) {
    if (name == "id" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    return UnknownName("member", name, known);
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
