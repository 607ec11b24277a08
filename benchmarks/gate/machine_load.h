#ifndef BENCHMARKS_GATE_MACHINE_LOAD_H_
#define BENCHMARKS_GATE_MACHINE_LOAD_H_

// Computes how much of the machine other processes use, from the texts of /proc/stat and /proc/loadavg. Pure.
//
// The load averages of /proc/loadavg are not used, because they still include for minutes a build that has ended, such
// as the one before the gates. Where /proc/stat does not move (some containers), the count of runnable tasks in
// /proc/loadavg is used instead.

#include <optional>

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

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MACHINE_LOAD_H_
