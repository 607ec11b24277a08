#include "core/io/optional_file.h"

#include "absl/strings/str_cat.h"
#include "core/io/directory_entry.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"

namespace reprise {

absl::StatusOr<bool> IsPresent(const std::string& path) {
  const absl::StatusOr<FileInfo> info = PosixFileSystem().Stat(path);
  if (info.ok()) return true;
  if (!absl::IsNotFound(info.status())) return info.status();
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (!entry.is_link) return false;
  return absl::FailedPreconditionError(
      absl::StrCat(info.status().message(),
                   ": fetch the file again, or copy its directory together with what its links lead to (cp -rL)"));
}

absl::StatusOr<std::optional<std::string>> ReadOptionalFile(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const bool is_present, IsPresent(path));
  if (!is_present) return std::nullopt;
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(PosixFileSystem(), path, max_bytes));
  if (!bytes.empty()) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is empty, as a download that was cut off leaves: fetch it again, or remove it"));
}

}  // namespace reprise
