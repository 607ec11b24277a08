#include "pipelines/watchdog/heartbeat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "pipelines/program/status_file.h"

namespace reprise {
namespace {

constexpr absl::string_view kFirstField = "reprise-heartbeat-1", kLastField = "end";

// Returns at most `limit` bytes of a file, nothing where it cannot be read.
std::optional<std::string> ReadStart(const std::string& path, size_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would block
  if (file < 0) return std::nullopt;
  std::string bytes(limit, '\0');
  size_t size = 0;
  for (;;) {
    const ssize_t got = ::pread(file, bytes.data() + size, limit - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ::close(file);
  bytes.resize(size);
  return bytes;
}

bool WriteAll(int file, absl::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

bool WriteInPlace(const std::string& path, absl::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool written = WriteAll(file, bytes);
  return ::close(file) == 0 && written;
}

// Returns text without the separator and at most `limit` bytes of it.
std::string Field(absl::string_view text, size_t limit) {
  std::string field(text.substr(0, limit));
  std::replace(field.begin(), field.end(), '\t', ' ');
  return field;
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> host = {};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string LinkText(const char* path) {
  std::array<char, 256> text = {};
  const ssize_t size = ::readlink(path, text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
}

}  // namespace

std::string EncodeHeartbeat(const Heartbeat& heartbeat) {
  std::string line = absl::StrJoin(
      std::vector<std::string>{std::string(kFirstField), absl::StrCat(heartbeat.beat),
                               absl::StrCat(static_cast<int>(heartbeat.state)), absl::StrCat(heartbeat.rank),
                               Field(heartbeat.host, 100), Field(heartbeat.machine, 100), absl::StrCat(heartbeat.pid),
                               absl::StrCat(heartbeat.pid_start), absl::StrCat(heartbeat.phase),
                               absl::StrCat(heartbeat.in_phase_ms), absl::StrCat(heartbeat.calls),
                               Field(heartbeat.last_call, 40), absl::StrCat(heartbeat.beat), std::string(kLastField)},
      "\t");
  line.resize(kHeartbeatBytes - 1, ' ');
  return line + "\n";
}

std::optional<Heartbeat> DecodeHeartbeat(absl::string_view bytes) {
  if (bytes.size() != kHeartbeatBytes) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(bytes, '\t');
  if (fields.size() != 14 || fields[0] != kFirstField || !absl::StartsWith(fields[13], kLastField)) return std::nullopt;
  Heartbeat heartbeat;
  int state = 0;
  int64_t again = 0;
  if (!absl::SimpleAtoi(fields[1], &heartbeat.beat) || !absl::SimpleAtoi(fields[2], &state) ||
      !absl::SimpleAtoi(fields[3], &heartbeat.rank) || !absl::SimpleAtoi(fields[6], &heartbeat.pid) ||
      !absl::SimpleAtoi(fields[7], &heartbeat.pid_start) || !absl::SimpleAtoi(fields[8], &heartbeat.phase) ||
      !absl::SimpleAtoi(fields[9], &heartbeat.in_phase_ms) || !absl::SimpleAtoi(fields[10], &heartbeat.calls) ||
      !absl::SimpleAtoi(fields[12], &again)) {
    return std::nullopt;
  }
  if (again != heartbeat.beat || state < 0 || state > Heartbeat::kReported) return std::nullopt;
  heartbeat.state = static_cast<Heartbeat::State>(state);
  heartbeat.host = fields[4];
  heartbeat.machine = fields[5];
  heartbeat.last_call = fields[11];
  return heartbeat;
}

void DescribeThisProcess(Heartbeat* heartbeat) {
  heartbeat->host = HostName();
  const std::string boot = ReadStart("/proc/sys/kernel/random/boot_id", 36).value_or("");
  heartbeat->machine = absl::StrCat(boot, " ", LinkText("/proc/self/ns/pid"));
  heartbeat->pid = ::getpid();
  heartbeat->pid_start = StartOfProcess(heartbeat->pid).value_or(0);
}

std::optional<int64_t> StartOfProcess(pid_t pid) {
  const std::optional<std::string> text = ReadStart(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!text) return std::nullopt;
  // The second field, a name in parentheses, may contain anything.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*text).substr(name_end + 1), ' ', absl::SkipEmpty());
  int64_t start = 0;
  constexpr size_t kStartField = 22 - 3;  // numbered from 1 by proc(5); the first one here is its third
  if (fields.size() <= kStartField || !absl::SimpleAtoi(fields[kStartField], &start)) return std::nullopt;
  return start;
}

bool WatchdogFiles::Write(const Heartbeat& heartbeat) const {
  return WriteInPlace(RankPath(heartbeat.rank), EncodeHeartbeat(heartbeat));
}

std::optional<Heartbeat> WatchdogFiles::Read(int rank) const {
  const std::optional<std::string> bytes = ReadStart(RankPath(rank), kHeartbeatBytes);
  if (!bytes && errno == ENOENT) return Heartbeat{.state = Heartbeat::kGone, .rank = rank};
  return bytes ? DecodeHeartbeat(*bytes) : std::nullopt;
}

bool WatchdogFiles::RaiseAlarm(absl::string_view text) const { return CreateWhole(AlarmPath(), text); }

std::optional<std::string> WatchdogFiles::ReadAlarm() const { return ReadStart(AlarmPath(), size_t{1} << 20); }

bool WatchdogFiles::WriteReport(int rank, absl::string_view text) const { return CreateWhole(ReportPath(rank), text); }

bool WatchdogFiles::HasReport(int rank) const { return ::access(ReportPath(rank).c_str(), F_OK) == 0; }

void WatchdogFiles::Remove(int rank) const { ::unlink(RankPath(rank).c_str()); }

void RemoveHeartbeats(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR* const entries = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    const absl::string_view name = entry->d_name;
    int rank = 0;
    const size_t dot = name.rfind(".rank");
    if (dot == absl::string_view::npos || !absl::SimpleAtoi(name.substr(dot + 5), &rank)) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    const std::string start = ReadStart(path, kFirstField.size()).value_or("");
    // A killed process may have left an incomplete one.
    if (start == kFirstField.substr(0, start.size())) ::unlink(path.c_str());
  }
  ::closedir(entries);
  ::rmdir(directory.c_str());
}

}  // namespace reprise
