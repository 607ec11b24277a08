#include "benchmarks/gate/load_watch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

absl::Status NotStat() { return absl::DataLossError("/proc/stat has no line of processor times"); }

constexpr int64_t kMostBytes = int64_t{16} << 20;  // a line for each processor and each interrupt
constexpr double kWindowSeconds = 0.3;             // 30 ticks of each processor

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double OwnSeconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    seconds += Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  return seconds;
}

absl::StatusOr<CpuTimes> ReadStat(const std::string& proc) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), absl::StrCat(proc, "/stat"), kMostBytes));
  return ParseStat(text);
}

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

absl::StatusOr<LoadWatch> LoadWatch::Start(const std::string& proc) {
  LoadWatch watch(proc);
  watch.own_seconds_ = OwnSeconds();
  ASSIGN_OR_RETURN(watch.before_, ReadStat(proc));
  return watch;
}

absl::StatusOr<double> LoadWatch::OtherCores() const {
  ASSIGN_OR_RETURN(const CpuTimes after, ReadStat(proc_));
  const std::optional<double> others =
      gate::OtherCores(before_, after, OwnSeconds() - own_seconds_, static_cast<double>(sysconf(_SC_CLK_TCK)));
  if (others) return *others;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), absl::StrCat(proc_, "/loadavg"), kMostBytes));
  ASSIGN_OR_RETURN(const int runnable, ParseRunnable(text));
  return std::max(0, runnable - 1);
}

absl::Status WaitForQuiet(const std::string& proc, double patience_seconds) {
  for (double waited = kWindowSeconds;; waited += kWindowSeconds) {
    ASSIGN_OR_RETURN(const LoadWatch watch, LoadWatch::Start(proc));
    usleep(static_cast<useconds_t>(1e6 * kWindowSeconds));
    ASSIGN_OR_RETURN(const double others, watch.OtherCores());
    if (others <= MostOtherCores(watch.processors())) return absl::OkStatus();
    if (waited < patience_seconds) continue;
    return absl::UnavailableError(absl::StrFormat(
        "other processes keep %.1f of %d processors busy, which makes measurements meaningless: repeat this on an idle "
        "machine, or wait longer with --patience SECONDS",
        others, watch.processors()));
  }
}

}  // namespace reprise::gate
