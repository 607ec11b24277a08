#include "data/artifact/directory/own_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/format/file_range.h"

namespace reprise::internal {
namespace {

// Returns false for the error of reading a file that is gone, is none, or is not what was expected.
absl::StatusOr<bool> NotOwn(const absl::Status& status) {
  if (absl::IsNotFound(status) || absl::IsInvalidArgument(status) || absl::IsDataLoss(status)) return false;
  return status;
}

}  // namespace

absl::StatusOr<bool> IsOwnClaim(FileSystem& files, const std::string& path) {
  const absl::string_view expected = kClaimText;
  const absl::StatusOr<std::string> bytes = ReadFile(files, path, static_cast<int64_t>(expected.size()));
  return bytes.ok() ? *bytes == expected : NotOwn(bytes.status());
}

absl::StatusOr<bool> IsUnfinishedClaim(FileSystem& files, const std::string& path) {
  const absl::string_view expected = kClaimText;
  const absl::StatusOr<std::string> bytes = ReadFile(files, path, static_cast<int64_t>(expected.size()));
  if (!bytes.ok()) return NotOwn(bytes.status());
  return *bytes == expected.substr(0, bytes->size()) || bytes->find_first_not_of('\0') == std::string::npos;
}

absl::StatusOr<bool> IsOwnJournal(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(files, path, kLargestJournal);
  if (!bytes.ok()) return NotOwn(bytes.status());
  const absl::StatusOr<ParsedJournal> journal = ParseJournal(*bytes);
  if (!journal.ok()) return false;
  if (!journal->entries.empty()) return journal->entries[0].kind == kParentKind;
  const absl::string_view start = absl::string_view(*bytes).substr(0, bytes->find('\0'));
  const std::string expected = absl::StrCat(kParentKind, " ");
  return start.substr(0, expected.size()) == absl::string_view(expected).substr(0, start.size());
}

absl::StatusOr<bool> IsOwnCheckpointFile(FileSystem& files, const std::string& path, const Digest& sha256) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (!info.ok()) return NotOwn(info.status());
  const FileRange whole = {.path = path, .offset = 0, .size = info->size, .sha256 = sha256};
  const absl::Status read = CopyRange(files, whole, [](absl::string_view) { return absl::OkStatus(); });
  return read.ok() ? absl::StatusOr<bool>(true) : NotOwn(read);
}

}  // namespace reprise::internal
