#ifndef BENCHMARKS_GATE_LOAD_WATCH_H_
#define BENCHMARKS_GATE_LOAD_WATCH_H_

// Watches the machine while we measure on it.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/gate/machine_load.h"

namespace reprise::gate {

class LoadWatch {
 public:
  // Starts a watch. `proc`: "/proc", or a folder with such files. Errors are those of reading and parsing them.
  static absl::StatusOr<LoadWatch> Start(const std::string& proc);

  // The processors that other work kept busy since the start: other than this process and its ended children.
  absl::StatusOr<double> OtherCores() const;

  int processors() const { return before_.processors; }

 private:
  explicit LoadWatch(std::string proc) : proc_(std::move(proc)) {}

  std::string proc_;
  CpuTimes before_;
  double own_seconds_ = 0;
};

// Ok once other work leaves the machine to us for a moment; Unavailable when it has not within `patience_seconds`:
// "other work keeps 1.9 of 2 processors busy; ...".
absl::Status WaitForQuiet(const std::string& proc, double patience_seconds);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_LOAD_WATCH_H_
