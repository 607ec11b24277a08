#ifndef CORE_IO_OPTIONAL_FILE_H_
#define CORE_IO_OPTIONAL_FILE_H_

// Files of the operating system that need not be there, but must be whole where they are: one that was lost must not
// be taken for one that never was.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace reprise {

// Returns whether there is a file or a directory of that name. FailedPrecondition for a symbolic link that leads
// nowhere, such as those of a cache that was moved without the files that they lead to.
absl::StatusOr<bool> IsPresent(const std::string& path);

// Returns the file's bytes; nullopt if there is none. Errors of IsPresent and of ReadFile (core/io/read_file.h), and
// InvalidArgument for an empty file.
absl::StatusOr<std::optional<std::string>> ReadOptionalFile(const std::string& path, int64_t max_bytes);

}  // namespace reprise

#endif  // CORE_IO_OPTIONAL_FILE_H_
