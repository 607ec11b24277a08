#include "core/machine/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"

namespace reprise {
namespace {

constexpr char kFirstCore[] = "/sys/devices/system/cpu/cpu0/cache";

// Returns the file's single line, or "" if there is no such file.
std::string LineOf(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(PosixFileSystem(), path, 1 << 12);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Converts "32768K" to bytes; 0 if it is not a size.
int64_t BytesOf(absl::string_view size) {
  int64_t unit = 1, number = 0;
  if (absl::ConsumeSuffix(&size, "K")) unit = int64_t{1} << 10;
  if (absl::ConsumeSuffix(&size, "M")) unit = int64_t{1} << 20;
  const bool is_size = absl::SimpleAtoi(size, &number) && number > 0;
  return is_size && number <= std::numeric_limits<int64_t>::max() / unit ? number * unit : 0;
}

// The C library is asked second: where groups of cores share a cache, it reports the total of all groups.
int64_t AskForLastLevelCache() {
  if (const int64_t bytes = LargestLevelIn(kFirstCore); bytes > 0) return bytes;
  const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsualLastLevelCacheBytes;
}

}  // namespace

int64_t LargestLevelIn(absl::string_view folder) {
  int64_t highest = 0, bytes = 0;
  for (int index = 0;; ++index) {
    const std::string cache = absl::StrCat(folder, "/index", index);
    int64_t level = 0;
    if (!absl::SimpleAtoi(LineOf(cache + "/level"), &level)) return bytes;
    const int64_t size = BytesOf(LineOf(cache + "/size"));
    if (level <= highest || size == 0) continue;
    highest = level;
    bytes = size;
  }
}

int64_t LastLevelCacheBytes() {
  static const int64_t bytes = AskForLastLevelCache();
  return bytes;
}

int64_t UsableMemoryBytes(const CgroupLimits& limits) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
  int64_t usable = limits.memory_bytes;
  if (pages > 0 && bytes > 0) usable = std::min(usable, pages * bytes);
  rlimit space = {};
  const bool is_limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && space.rlim_cur > 0;
  return is_limited && space.rlim_cur < static_cast<rlim_t>(usable) ? static_cast<int64_t>(space.rlim_cur) : usable;
}

int64_t PeakMemoryBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    int64_t kilobytes = 0;
    if (!absl::ConsumePrefix(&rest, "VmHWM:") || !absl::ConsumeSuffix(&rest, "kB")) continue;
    if (absl::SimpleAtoi(rest, &kilobytes)) return kilobytes << 10;
  }
  return 0;
}

}  // namespace reprise
