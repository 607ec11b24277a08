#ifndef DATA_ARTIFACT_FORMAT_USER_BLOCK_H_
#define DATA_ARTIFACT_FORMAT_USER_BLOCK_H_

// The first 512 bytes of a run file: text that identifies the file and holds the digests of the rest (FORMAT.md, "User
// block"). `head -c 512 run.h5` prints it.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"

namespace reprise::internal {

inline constexpr int64_t kFormatVersion = 1;
inline constexpr absl::string_view kMagic = "reprise run\n";  // its first line

struct UserBlock {
  int64_t body_bytes = 0;  // all bytes after the block
  Digest body_digest = {};
  Digest run_digest = {};
};

// Returns exactly 512 bytes.
std::string EncodeUserBlock(const UserBlock& block);

// Parses the block at the start of `file` and checks the size, but not the digest, of the bytes after it. DataLoss if
// the block is damaged or the file was truncated; Unimplemented, naming both numbers, for another format than
// kFormatVersion or another numeric contract than kNumericContract.
absl::StatusOr<UserBlock> ParseUserBlock(absl::string_view file);

// The same for a file of `file_bytes` bytes of which only the first 512 (or all, if it has fewer) were read.
absl::StatusOr<UserBlock> ParseUserBlock(absl::string_view start, int64_t file_bytes);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_FORMAT_USER_BLOCK_H_
