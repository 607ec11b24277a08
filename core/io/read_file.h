#ifndef CORE_IO_READ_FILE_H_
#define CORE_IO_READ_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace reprise {

// Returns the whole file. DataLoss if it is larger than `max_bytes`, without reading it; InvalidArgument for a
// directory.
absl::StatusOr<std::string> ReadFile(FileSystem& files, absl::string_view path, int64_t max_bytes);

// Returns whether there is a file or a directory of that name.
absl::StatusOr<bool> Exists(FileSystem& files, absl::string_view path);

}  // namespace reprise

#endif  // CORE_IO_READ_FILE_H_
