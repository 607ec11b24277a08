#ifndef BENCHMARKS_GATE_MACHINE_LOAD_H_
#define BENCHMARKS_GATE_MACHINE_LOAD_H_

// How much of the machine other work takes, from /proc/stat and /proc/loadavg. Pure: texts in, numbers out.
//
// The averages of /proc/loadavg are not looked at: they remember for minutes a build that has ended, such as the one
// before the gates. Its count of tasks that want to run now stands in where /proc/stat does not move (some containers).

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::gate {

// Clock ticks since the machine started, over all its processors.
struct CpuTimes {
  double busy = 0;   // user, nice, system, interrupts, and what a hypervisor took
  double total = 0;  // with idle and waiting for disks
  int processors = 0;
};

// Of /proc/stat. DataLoss when the text is no such file.
absl::StatusOr<CpuTimes> ParseStat(absl::string_view text);

// Tasks that run or want to, the reader among them, of /proc/loadavg. DataLoss when the text is no such file.
absl::StatusOr<int> ParseRunnable(absl::string_view text);

// How many processors other work kept busy between two readings, in which we used `own_seconds` of processor time;
// none when no time passed on them.
std::optional<double> OtherCores(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                                 double ticks_per_second);

// More of it is a loaded machine: a quarter of a processor, or a tenth of all of them.
double MostOtherCores(int processors);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_MACHINE_LOAD_H_
