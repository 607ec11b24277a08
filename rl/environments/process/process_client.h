#ifndef RL_ENVIRONMENTS_PROCESS_PROCESS_CLIENT_H_
#define RL_ENVIRONMENTS_PROCESS_PROCESS_CLIENT_H_

// A client of an external process that answers requests in JSON lines (docs/environments.md). A request contains
// everything that its reply may depend on, so that any process can answer any request: as many processes run as threads
// send requests at once, and one that has died is replaced. After the first request that fails permanently, all others
// fail too, because the run will not use their replies.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/json/json.h"
#include "core/process/child_process.h"

namespace reprise::rl {

struct ProcessOptions {
  std::string command;   // run by /bin/sh
  double seconds = 60;   // for a reply
  int64_t restarts = 2;  // of the process, per request
};

class ProcessClient {
 public:
  explicit ProcessClient(ProcessOptions options) : options_(std::move(options)) {}
  ~ProcessClient();  // closes all processes' inputs, then waits for them, one second in total

  // Sends the line `request(id)`, an object with this "id", which a reply to an older request would not have, and hands
  // the reply, an object with the same "id", to `take`. Thread-safe. A process that exits or does not reply in time is
  // restarted and the request sent again, up to options.restarts times; but not before any process has replied, because
  // such a fault would recur. Errors name the command and `whose`: Aborted or DeadlineExceeded for the last process's
  // failure, NotFound where the shell does not find the command, DataLoss for a reply that is invalid or that `take`
  // rejects, which is not retried. After an error every other request, waiting or new, fails with the same error at
  // once.
  absl::Status Ask(const std::function<std::string(int64_t id)>& request, absl::string_view whose,
                   const std::function<absl::Status(const JsonValue& reply)>& take);

  // Makes all requests fail with `status`, unless one has already failed.
  void Fail(const absl::Status& status);

  // Returns whether requests are cancelled: a request has failed, or `elsewhere` reports that another rank's has.
  bool IsCancelled();
  // Sets `elsewhere`, which is called many times a second while waiting for a reply. Call before the first Ask.
  void WatchOthers(std::function<bool()> elsewhere) { has_failed_elsewhere_ = std::move(elsewhere); }

  // Sets `tell`, which is called with a message at each restart, on the thread that asks. Call before the first Ask.
  void OnRestart(std::function<void(absl::string_view)> tell) { on_restart_ = std::move(tell); }

  const std::string& command() const { return options_.command; }
  int64_t started() const;   // processes started so far
  int64_t restarts() const;  // those that replaced one that exited or did not reply

 private:
  struct Lease {
    std::unique_ptr<ChildProcess> process;
    int64_t id = 0;
  };
  absl::StatusOr<Lease> Take();
  void GiveBack(std::unique_ptr<ChildProcess> process);
  void CountRestart(const absl::Status& why, absl::string_view whose, int64_t restart);
  absl::Status AnnotateFailure(const absl::Status& status, absl::string_view what, absl::string_view whose) const;
  // Calls Fail(status), and returns the first failure.
  absl::Status EndWith(const absl::Status& status);

  const ProcessOptions options_;
  std::function<void(absl::string_view)> on_restart_ = nullptr;
  std::function<bool()> has_failed_elsewhere_ = nullptr;
  std::atomic<bool> has_replied_ = false, has_failed_ = false;
  mutable std::mutex mutex_;
  absl::Status failure_;  // the first
  std::vector<std::unique_ptr<ChildProcess>> idle_;
  int64_t next_id_ = 1, started_ = 0, restarts_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_PROCESS_PROCESS_CLIENT_H_
