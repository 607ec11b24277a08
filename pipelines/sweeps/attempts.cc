#include "pipelines/sweeps/attempts.h"

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kMostLogBytes = int64_t{1} << 26;

struct Entry {
  absl::string_view what;
  uint32_t execution = 0;
  int64_t step = -1;
  bool alone = false;
};

std::optional<Entry> ParseEntry(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  Entry entry;
  if (words.size() < 3 || words[1].size() != 8 || !absl::SimpleHexAtoi(words[1], &entry.execution) ||
      !absl::SimpleAtoi(words[2], &entry.step)) {
    return std::nullopt;
  }
  entry.what = words[0];
  const bool is_death = entry.what == "died";
  if (words.size() != (is_death ? 4u : 3u) || (!is_death && entry.what != "began" && entry.what != "stopped")) {
    return std::nullopt;
  }
  if (!is_death) return entry;
  entry.alone = words[3] == "alone";
  if (!entry.alone && words[3] != "beside") return std::nullopt;
  return entry;
}

void Take(const Entry& entry, Attempts* attempts) {
  if (entry.what == "began") {
    attempts->execution = entry.execution;
    attempts->step = entry.step;
    attempts->end = Attempts::kOpen;
    return;
  }
  if (attempts->end != Attempts::kOpen || entry.execution != attempts->execution) return;
  const bool died = entry.what == "died";
  attempts->end = died ? Attempts::kDied : Attempts::kStopped;
  if (entry.step > attempts->step) {
    attempts->lost = 0;
    attempts->is_suspect = false;
  } else if (died) {
    attempts->lost += entry.alone ? 1 : 0;
    attempts->is_suspect = true;
  }
}

absl::StatusOr<std::string> LogIn(FileSystem& files, const std::string& path) {
  absl::StatusOr<std::string> log = ReadFile(files, path, kMostLogBytes);
  if (absl::IsNotFound(log.status())) return std::string();
  return log;
}

absl::Status Append(FileSystem& files, const std::string& directory, std::string entry) {
  const std::string path = JoinPath(directory, kAttemptsFile);
  ASSIGN_OR_RETURN(const std::string log, LogIn(files, path));
  if (!log.empty() && log.back() != '\n') entry.insert(entry.begin(), '\n');  // a kill has left a part of a line
  entry += '\n';
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kAppend));
  RETURN_IF_ERROR(file->Append(entry));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  return log.empty() ? files.SyncDirectory(directory) : absl::OkStatus();
}

std::string FormatEntry(absl::string_view what, uint32_t execution, int64_t step) {
  return absl::StrFormat("%s %08x %d", what, execution, step);
}

}  // namespace

Attempts ReadAttempts(absl::string_view log) {
  Attempts attempts;
  const size_t end = log.rfind('\n');
  if (end == absl::string_view::npos) return attempts;
  for (const absl::string_view line : absl::StrSplit(log.substr(0, end), '\n')) {
    if (const std::optional<Entry> entry = ParseEntry(line)) Take(*entry, &attempts);
  }
  return attempts;
}

absl::StatusOr<Attempts> LoadAttempts(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string log, LogIn(files, JoinPath(directory, kAttemptsFile)));
  return ReadAttempts(log);
}

absl::Status BeginAttempt(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  return Append(files, directory, FormatEntry("began", execution, step));
}

absl::Status StopAttempt(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step) {
  return Append(files, directory, FormatEntry("stopped", execution, step));
}

absl::Status NoteDeath(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step, bool alone) {
  return Append(files, directory, FormatEntry("died", execution, step) + (alone ? " alone" : " beside"));
}

absl::Status ForgetAttempts(FileSystem& files, const std::string& directory) {
  const absl::Status removed = files.Unlink(JoinPath(directory, kAttemptsFile));
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status GivenUp(int64_t lost) {
  return absl::AbortedError(
      absl::StrCat(lost, lost == 1 ? " attempt" : " attempts in a row",
                   " ended with the death of the process (killed, out of memory, crashed, or hung and ended by the "
                   "watchdog), before another step was committed; sweep --attempts ",
                   lost + 1, " tries it again"));
}

}  // namespace reprise
