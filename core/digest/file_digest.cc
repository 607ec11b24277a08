#include "core/digest/file_digest.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise {

absl::StatusOr<Digest> DigestOfFile(FileSystem& files, absl::string_view path) {
  constexpr int64_t kPieceBytes = int64_t{4} << 20;
  ASSIGN_OR_RETURN(const FileInfo info, files.Stat(path));
  if (info.is_directory) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; expected a file"));
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  Sha256Stream digest;
  for (int64_t done = 0;;) {
    ASSIGN_OR_RETURN(const std::string piece, file->ReadAt(done, kPieceBytes));
    digest.Update(piece);
    done += static_cast<int64_t>(piece.size());
    if (static_cast<int64_t>(piece.size()) < kPieceBytes) break;
  }
  RETURN_IF_ERROR(file->Close());
  return digest.Current();
}

}  // namespace reprise
