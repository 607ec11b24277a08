#ifndef RL_ENVIRONMENT_PROCESS_CLIENT_H_
#define RL_ENVIRONMENT_PROCESS_CLIENT_H_

// A program outside of this one that is asked in JSON lines (docs/environments.md). A request holds all that its reply
// may depend on, so any process can be asked anything: as many run as there are threads that ask at once, and one that
// has died is replaced.

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
#include "nlohmann/json.hpp"

namespace reprise::rl {

struct ProcessOptions {
  std::string command;   // of /bin/sh
  double seconds = 60;   // for a reply
  int64_t restarts = 2;  // of the process for one request
};

class ProcessClient {
 public:
  explicit ProcessClient(ProcessOptions options) : options_(std::move(options)) {}

  // Sends `request` with an "id" and hands the reply, an object with the same "id", to `take`. Thread-safe. A process
  // that ends or gives no reply in time is replaced and asked again, options.restarts times. Errors name the command
  // and `whose`: Aborted or DeadlineExceeded as the last process had it, DataLoss for a reply that is none or that
  // `take` refuses, which is not asked for again.
  absl::Status Ask(nlohmann::json request, absl::string_view whose,
                   const std::function<absl::Status(const JsonValue& reply)>& take);

  int64_t started() const { return started_; }  // processes, so far

 private:
  struct Lease {
    std::unique_ptr<ChildProcess> process;
    int64_t id = 0;
  };
  absl::StatusOr<Lease> Take();
  void GiveBack(std::unique_ptr<ChildProcess> process);

  const ProcessOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ChildProcess>> idle_;
  int64_t next_id_ = 1, started_ = 0;
};

// InvalidArgument unless every member of the object is called one of `known` or "id".
absl::Status CheckMembers(const JsonValue& object, const std::vector<absl::string_view>& known);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_PROCESS_CLIENT_H_
