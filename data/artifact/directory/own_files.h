#ifndef DATA_ARTIFACT_DIRECTORY_OWN_FILES_H_
#define DATA_ARTIFACT_DIRECTORY_OWN_FILES_H_

// A file in a run's directory is removed only if its contents, too, are those of the kind that its name says: anybody
// may have put a file there. All return false for what is gone or is not a regular file, and only errors of `files`.

#include <string>

#include "absl/status/statusor.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"

namespace reprise::internal {

// What a claim contains.
inline constexpr char kClaimText[] = "claimed\n";

absl::StatusOr<bool> IsOwnClaim(FileSystem& files, const std::string& path);

// Returns whether it is a claim whose writing was interrupted.
absl::StatusOr<bool> IsUnfinishedClaim(FileSystem& files, const std::string& path);

// Returns whether it is a journal, which may be truncated or empty.
absl::StatusOr<bool> IsOwnJournal(FileSystem& files, const std::string& path);

// Returns whether the file's bytes have the digest.
absl::StatusOr<bool> IsOwnCheckpointFile(FileSystem& files, const std::string& path, const Digest& sha256);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_OWN_FILES_H_
