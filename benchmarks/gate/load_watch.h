#ifndef BENCHMARKS_GATE_LOAD_WATCH_H_
#define BENCHMARKS_GATE_LOAD_WATCH_H_

// Measures how much other processes use the machine during a measurement, from /proc/stat and /proc/loadavg.
//
// The load averages of /proc/loadavg are not used, because they still include for minutes a build that has ended, such
// as the one before the gates. Where /proc/stat does not move (some containers), the count of runnable tasks in
// /proc/loadavg is used instead.

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::gate {

// Clock ticks since the machine started, over all its processors.
struct CpuTimes {
  double busy = 0;   // user, nice, system, interrupts, and time stolen by a hypervisor
  double total = 0;  // busy, idle, and waiting for disks
  int processors = 0;
};

// Parses /proc/stat. DataLoss if the text has another format.
absl::StatusOr<CpuTimes> ParseStat(absl::string_view text);

// Returns the number of runnable tasks, including the reader, of /proc/loadavg. DataLoss if the text has another
// format.
absl::StatusOr<int> ParseRunnable(absl::string_view text);

// Returns how many processors other processes kept busy between two readings, during which this process used
// `own_seconds` of processor time; none if no ticks passed between them.
std::optional<double> OtherCores(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                                 double ticks_per_second);

// Returns the limit above which the machine is loaded: a quarter of a processor, or a tenth of all, whichever is more.
double MostOtherCores(int processors);

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
