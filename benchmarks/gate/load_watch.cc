#include "benchmarks/gate/load_watch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"

namespace reprise::gate {
namespace {

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
