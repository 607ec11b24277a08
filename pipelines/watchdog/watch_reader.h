#ifndef PIPELINES_WATCHDOG_WATCH_READER_H_
#define PIPELINES_WATCHDOG_WATCH_READER_H_

// The watchdog of a program that reads a run, or a model, and writes no other: evaluate, reproduce.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"
#include "pipelines/watchdog/watchdog.h"
#include "rl/config/config.h"

namespace reprise {

// Starts it, in RunPhase::kPrepare; null if the configuration says so. Its files are in the directory `watchdog` beside
// what is read: `read` is the path of a run.h5, or the directory of a run or model. Where the ranks cannot write there,
// or do not see each other's files because each host has a copy, every rank watches only itself. `name`: "evaluation".
// Collective. `comm` and `name` must outlive the result. Errors: those of Watchdog::Start.
absl::StatusOr<std::unique_ptr<Watchdog>> WatchReader(const rl::ExecutionConfig& execution, absl::string_view name,
                                                      const std::string& read, Communicator& comm);

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_WATCH_READER_H_
