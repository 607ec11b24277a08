#include "core/io/directory_entry.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {

absl::StatusOr<DirectoryEntry> LookUp(absl::string_view path) {
  struct stat info;
  if (::lstat(std::string(path).c_str(), &info) == 0) {
    return DirectoryEntry{.exists = true,
                          .is_link = S_ISLNK(info.st_mode),
                          .is_directory = S_ISDIR(info.st_mode),
                          .is_file = S_ISREG(info.st_mode),
                          .names = static_cast<int64_t>(info.st_nlink)};
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

absl::Status CheckTakesFile(absl::string_view path) {
  RETURN_IF_ERROR(CheckIsNoLink(path));
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (!entry.exists || entry.is_file) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " is ",
                                                    entry.is_directory ? "a directory" : "a pipe, a device or a socket",
                                                    ", and a file is written there: move it away"));
}

absl::Status CheckTakesDirectory(absl::string_view path) {
  RETURN_IF_ERROR(CheckIsNoLink(path));
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (!entry.exists || entry.is_directory) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is no directory, and files are written below it: move it away"));
}

absl::Status RenameOver(absl::string_view from, absl::string_view to) {
  const bool is_renamed = ::rename(std::string(from).c_str(), std::string(to).c_str()) == 0;
  return is_renamed ? absl::OkStatus() : FileError(errno, "rename a file to", to);
}

}  // namespace reprise
