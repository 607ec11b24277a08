#ifndef CORE_DIGEST_FILE_DIGEST_H_
#define CORE_DIGEST_FILE_DIGEST_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"

namespace reprise {

// Returns the SHA-256 of the whole file, of which at most 4 MiB are held in memory. Errors are those of the file
// system, and InvalidArgument for a directory.
absl::StatusOr<Digest> DigestOfFile(FileSystem& files, absl::string_view path);

}  // namespace reprise

#endif  // CORE_DIGEST_FILE_DIGEST_H_
