#ifndef CORE_IO_DIRECTORY_ENTRY_H_
#define CORE_IO_DIRECTORY_ENTRY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// What a name stands for, without following a symbolic link.
struct DirectoryEntry {
  bool exists = false;
  bool is_link = false;                        // a symbolic one, whether or not it leads somewhere
  bool is_directory = false, is_file = false;  // a regular one; a pipe or a device is neither
  int64_t names = 0;                           // of the same file: more than 1 where it has hard links
};

// Looks a name up in the operating system's directories: a FileSystem follows links. It is no error if there is none.
absl::StatusOr<DirectoryEntry> LookUp(absl::string_view path);

// FailedPrecondition, with a remedy, if `path` is a symbolic link: of a name that belongs to a program's own files, and
// through which it would write and remove somebody else's.
absl::Status CheckIsNoLink(absl::string_view path);

// The same unless there is nothing of that name, or a regular file, or a directory: for a file, or a directory, that
// the program is going to write.
absl::Status CheckTakesFile(absl::string_view path);
absl::Status CheckTakesDirectory(absl::string_view path);

// Gives a file of the operating system another name, in the place of the file that has it, if there is one: the name
// leads to either of them at any moment.
absl::Status RenameOver(absl::string_view from, absl::string_view to);

}  // namespace reprise

#endif  // CORE_IO_DIRECTORY_ENTRY_H_
