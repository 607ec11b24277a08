#include "benchmarks/gate/machine_load.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace reprise::gate {
namespace {

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

absl::Status NotStat() { return absl::DataLossError("/proc/stat has no line of processor times"); }

}  // namespace

absl::StatusOr<CpuTimes> ParseStat(absl::string_view text) {
  CpuTimes times;
  bool found = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "cpu")) continue;
    const std::vector<std::string> words = Words(line);
    if (words[0] != "cpu") {
      ++times.processors;
      continue;
    }
    // user nice system idle iowait irq softirq steal; guests are part of user and nice (proc(5)).
    if (words.size() < 5) return NotStat();
    for (size_t i = 1; i < std::min<size_t>(words.size(), 9); ++i) {
      double ticks = 0;
      if (!absl::SimpleAtod(words[i], &ticks)) return NotStat();
      times.total += ticks;
      if (i != 4 && i != 5) times.busy += ticks;
    }
    found = true;
  }
  if (!found || times.processors == 0) return NotStat();
  return times;
}

absl::StatusOr<int> ParseRunnable(absl::string_view text) {
  const std::vector<std::string> words = Words(text);
  int runnable = 0;
  if (words.size() < 4 || !absl::SimpleAtoi(words[3].substr(0, words[3].find('/')), &runnable)) {
    return absl::DataLossError("/proc/loadavg does not count the runnable tasks");
  }
  return runnable;
}

std::optional<double> OtherCores(const CpuTimes& before, const CpuTimes& after, double own_seconds,
                                 double ticks_per_second) {
  const double ticks = (after.total - before.total) / after.processors;  // the elapsed time of each processor
  if (!(ticks > 0)) return std::nullopt;
  return std::max(0.0, (after.busy - before.busy - own_seconds * ticks_per_second) / ticks);
}

double MostOtherCores(int processors) { return std::max(0.25, 0.1 * processors); }

}  // namespace reprise::gate
