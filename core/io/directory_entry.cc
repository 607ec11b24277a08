#include "core/io/directory_entry.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {

absl::StatusOr<DirectoryEntry> LookUp(absl::string_view path) {
  struct stat info;
  if (::lstat(std::string(path).c_str(), &info) == 0) {
    return DirectoryEntry{
        .exists = true, .is_link = S_ISLNK(info.st_mode), .names = static_cast<int64_t>(info.st_nlink)};
  }
  if (errno == ENOENT || errno == ENOTDIR) return DirectoryEntry();
  return FileError(errno, "find", path);
}

absl::Status CheckIsNoLink(absl::string_view path) {
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (!entry.is_link) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   " is a symbolic link, which is not followed: put in its place what it leads to, or remove it; only "
                   "the directory that --output names may be a link"));
}

}  // namespace reprise
