#include "rl/environments/process/process_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "rl/environments/process/process_reply.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kOutputIsForReplies =
    "; its standard output is for replies alone, one line for each request: print messages to standard error";

// The reason why a reply was rejected; it may quote the reply.
std::string RejectionReason(const absl::Status& status) {
  constexpr size_t kMostBytes = 300;
  std::string reason = Printable(status.message());
  if (reason.size() <= kMostBytes) return reason;
  reason.resize(kMostBytes);
  absl::StrAppend(&reason, "...");
  return reason;
}

// A line that is no JSON is a message of the program.
absl::Status Rejected(const std::string& reply, const absl::Status& why) {
  const bool is_message = !JsonDocument::Parse(reply).ok();
  return absl::DataLossError(
      absl::StrCat(Quoted(reply), ": ", RejectionReason(why), is_message ? kOutputIsForReplies : absl::string_view()));
}

}  // namespace

ProcessClient::~ProcessClient() {
  for (const std::unique_ptr<ChildProcess>& process : idle_) process->CloseInput();
}

int64_t ProcessClient::started() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return started_;
}

int64_t ProcessClient::restarts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return restarts_;
}

absl::StatusOr<ProcessClient::Lease> ProcessClient::Take() {
  Lease lease;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
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

void ProcessClient::Fail(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.ok()) failure_ = status;
  has_failed_ = true;
}

bool ProcessClient::IsCancelled() {
  if (!has_failed_ && has_failed_elsewhere_ != nullptr && has_failed_elsewhere_()) {
    Fail(absl::CancelledError("another rank has failed"));
  }
  return has_failed_;
}

absl::Status ProcessClient::EndWith(const absl::Status& status) {
  Fail(status);
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

absl::Status ProcessClient::AnnotateFailure(const absl::Status& status, absl::string_view what,
                                            absl::string_view whose) const {
  std::string message = absl::StrCat("the process ", Quoted(options_.command), " ", what, status.message(),
                                     "; the request was for ", whose);
  if (absl::IsDeadlineExceeded(status) && !has_replied_) {
    absl::StrAppend(&message,
                    "; it has never replied: a program must flush its standard output after each reply (in Python: "
                    "print(reply, flush=True))");
  }
  return absl::Status(status.code(), message);
}

void ProcessClient::CountRestart(const absl::Status& why, absl::string_view whose, int64_t restart) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++restarts_;
  }
  if (on_restart_ == nullptr) return;
  on_restart_(absl::StrCat(AnnotateFailure(why, "", whose).message(), "; restarting it (", restart, " of ",
                           options_.restarts, ")"));
}

absl::Status ProcessClient::Ask(const std::function<std::string(int64_t id)>& request, absl::string_view whose,
                                const std::function<absl::Status(const JsonValue& reply)>& take) {
  for (int64_t restarts = 0;; ++restarts) {
    absl::StatusOr<Lease> lease = Take();
    if (!lease.ok()) return EndWith(lease.status());
    const absl::StatusOr<std::string> line =
        lease->process->Exchange(request(lease->id), options_.seconds, [this] { return IsCancelled(); });
    if (line.ok()) {
      const absl::Status taken = ParseProcessReply(*line, lease->id, take);
      if (!taken.ok()) return EndWith(AnnotateFailure(Rejected(*line, taken), "replied ", whose));
      has_replied_ = true;
      GiveBack(std::move(lease->process));
      return absl::OkStatus();
    }
    const bool is_gone = absl::IsAborted(line.status()) || absl::IsDeadlineExceeded(line.status());
    if (!is_gone || !has_replied_ || restarts == options_.restarts) {
      const absl::string_view remedy = absl::IsDataLoss(line.status()) ? kOutputIsForReplies : absl::string_view();
      return EndWith(AnnotateFailure(absl::Status(line.status().code(), absl::StrCat(line.status().message(), remedy)),
                                     "", whose));
    }
    CountRestart(line.status(), whose, restarts + 1);
  }
}

}  // namespace reprise::rl
