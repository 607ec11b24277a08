#ifndef DATA_ARTIFACT_FORMAT_FILE_RANGE_H_
#define DATA_ARTIFACT_FORMAT_FILE_RANGE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "data/artifact/format/container.h"

namespace reprise::internal {

// A range of bytes of a file, and their expected digest.
struct FileRange {
  std::string path;
  int64_t offset = 0, size = 0;
  Digest sha256 = {};
};

// Passes the bytes to `sink` in pieces of a multiple of 8 bytes (except the last), at most 4 MiB each. DataLoss, naming
// the file, if it is too short or the bytes do not match their digest; the sink has already received them then.
absl::Status CopyRange(FileSystem& files, const FileRange& range, const ByteSink& sink);

// Returns the bytes of a range that is a whole file. DataLoss, naming the file, if the file has another size, of which
// nothing is read, or another digest.
absl::StatusOr<std::string> ReadWhole(FileSystem& files, const FileRange& whole);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_FORMAT_FILE_RANGE_H_
