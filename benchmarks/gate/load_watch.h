#ifndef BENCHMARKS_GATE_LOAD_WATCH_H_
#define BENCHMARKS_GATE_LOAD_WATCH_H_

// Measures how much other processes use the machine during a measurement.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/gate/machine_load.h"

namespace reprise::gate {

class LoadWatch {
 public:
  // Starts a watch. `proc` is "/proc" or a folder with the same files. Errors are those of reading and parsing them.
  static absl::StatusOr<LoadWatch> Start(const std::string& proc);

  // Returns the number of processors that were kept busy since the start by processes other than this one and its ended
  // children.
  absl::StatusOr<double> OtherCores() const;

  int processors() const { return before_.processors; }

 private:
  explicit LoadWatch(std::string proc) : proc_(std::move(proc)) {}

  std::string proc_;
  CpuTimes before_;
  double own_seconds_ = 0;
};

// Waits until other processes leave the machine idle for a moment. Unavailable ("other processes keep 1.9 of 2
// processors busy, ...") if they have not within `patience_seconds`.
absl::Status WaitForQuiet(const std::string& proc, double patience_seconds);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_LOAD_WATCH_H_
