#include "core/machine/cgroup.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"

namespace reprise {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;  // of /proc/self/mountinfo, on machines with many containers

std::string TextOf(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(PosixFileSystem(), path, kMostBytes);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Where a hierarchy of groups can be read.
struct Hierarchy {
  bool is_version_2 = false;
  std::string mount;  // the path of its topmost visible group, `root` included
  std::string group;  // that of this process's group, which begins with `mount`
};

// Returns the path of this process's group in the hierarchy with `controller`, or in version 2's (""): of the lines
// "4:cpu,cpuacct:/a/b" and "0::/a/b".
std::string GroupIn(absl::string_view controller, const std::string& groups) {
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      return std::string(fields[2]);
    }
  }
  return "";
}

// `mounted` is the group that is visible at `mount`; in a container often the process's own.
std::string PathOfGroup(const std::string& mount, absl::string_view mounted, absl::string_view group) {
  if (mounted != "/" && !absl::ConsumePrefix(&group, mounted)) return mount;
  return absl::StartsWith(group, "/") && group != "/" ? absl::StrCat(mount, group) : mount;
}

// Returns the hierarchy of version 1 with this controller, if there is one, and version 2's. A line of mountinfo is
// "ID PARENT DEVICE MOUNTED MOUNT OPTIONS ... - TYPE SOURCE OPTIONS".
std::vector<Hierarchy> HierarchiesOf(absl::string_view controller, absl::string_view root) {
  const std::string groups = TextOf(absl::StrCat(root, "/proc/self/cgroup"));
  std::vector<Hierarchy> found;
  for (const absl::string_view line : absl::StrSplit(TextOf(absl::StrCat(root, "/proc/self/mountinfo")), '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (parts.size() != 2) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(parts[0], ' '), type = absl::StrSplit(parts[1], ' ');
    if (fields.size() < 5 || type.size() < 3) continue;
    const std::vector<absl::string_view> options = absl::StrSplit(type[2], ',');
    const bool is_2 = type[0] == "cgroup2";
    const bool is_1 = type[0] == "cgroup" && std::find(options.begin(), options.end(), controller) != options.end();
    if (!is_1 && !is_2) continue;
    const std::string group = GroupIn(is_2 ? "" : controller, groups), mount = absl::StrCat(root, fields[4]);
    if (!group.empty()) found.push_back({is_2, mount, PathOfGroup(mount, fields[3], group)});
  }
  return found;
}

// Calls `visit` with the path of the hierarchy's group and of each group above it.
template <typename Visit>
void ForEachGroup(const Hierarchy& hierarchy, const Visit& visit) {
  for (std::string path = hierarchy.group; absl::StartsWith(path, hierarchy.mount); path = DirectoryOf(path)) {
    visit(path);
    if (path.size() <= 1) return;
  }
}

// The limit is "max", or in version 1 a huge number, where there is none.
int64_t MemoryOf(const Hierarchy& hierarchy, const std::string& path) {
  const char* const file = hierarchy.is_version_2 ? "/memory.max" : "/memory.limit_in_bytes";
  int64_t bytes = 0;
  const bool is_limit = absl::SimpleAtoi(TextOf(path + file), &bytes) && bytes > 0;
  return is_limit ? bytes : CgroupLimits().memory_bytes;
}

// Both are microseconds: "200000 100000" in version 2, or "max 100000"; in version 1 two files, the first -1 without a
// limit.
double ProcessorsOf(const Hierarchy& hierarchy, const std::string& path) {
  const std::string text = hierarchy.is_version_2 ? TextOf(path + "/cpu.max")
                                                  : absl::StrCat(TextOf(path + "/cpu.cfs_quota_us"), " ",
                                                                 TextOf(path + "/cpu.cfs_period_us"));
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  int64_t quota = 0, period = 0;
  const bool is_limit = words.size() == 2 && absl::SimpleAtoi(words[0], &quota) &&
                        absl::SimpleAtoi(words[1], &period) && quota > 0 && period > 0;
  return is_limit ? static_cast<double>(quota) / static_cast<double>(period) : CgroupLimits().processors;
}

}  // namespace

CgroupLimits ReadCgroupLimits(absl::string_view root) {
  CgroupLimits limits;
  for (const Hierarchy& hierarchy : HierarchiesOf("memory", root)) {
    ForEachGroup(hierarchy, [&](const std::string& path) {
      limits.memory_bytes = std::min(limits.memory_bytes, MemoryOf(hierarchy, path));
    });
  }
  for (const Hierarchy& hierarchy : HierarchiesOf("cpu", root)) {
    ForEachGroup(hierarchy, [&](const std::string& path) {
      limits.processors = std::min(limits.processors, ProcessorsOf(hierarchy, path));
    });
  }
  return limits;
}

}  // namespace reprise
