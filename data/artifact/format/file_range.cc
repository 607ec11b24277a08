#include "data/artifact/format/file_range.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::internal {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;

}  // namespace

absl::Status CopyRange(FileSystem& files, const FileRange& range, const ByteSink& sink) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(range.path, OpenMode::kRead));
  Sha256Stream digest;
  for (int64_t done = 0; done < range.size;) {
    const int64_t wanted = std::min(range.size - done, kPieceBytes);
    ASSIGN_OR_RETURN(const std::string piece, file->ReadAt(range.offset + done, wanted));
    if (static_cast<int64_t>(piece.size()) != wanted) {
      return absl::DataLossError(absl::StrCat(range.path, ": it was truncated"));
    }
    digest.Update(piece);
    RETURN_IF_ERROR(sink(piece));
    done += wanted;
  }
  if (digest.Current() != range.sha256) {
    return absl::DataLossError(absl::StrCat(range.path, ": it is damaged: its bytes ", range.offset, " to ",
                                            range.offset + range.size, " do not have their SHA-256"));
  }
  return file->Close();
}

absl::StatusOr<std::string> ReadWhole(FileSystem& files, const FileRange& whole) {
  ASSIGN_OR_RETURN(const FileInfo info, files.Stat(whole.path));
  if (info.is_directory || info.size != whole.size) {
    return absl::DataLossError(
        absl::StrCat(whole.path, ": it is damaged: ",
                     info.is_directory ? "it is a directory"
                                       : absl::StrCat("it has ", info.size, " bytes instead of ", whole.size)));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(whole.path, OpenMode::kRead));
  ASSIGN_OR_RETURN(std::string bytes, file->ReadAt(0, whole.size));
  RETURN_IF_ERROR(file->Close());
  if (static_cast<int64_t>(bytes.size()) == whole.size && Sha256(bytes) == whole.sha256) return bytes;
  return absl::DataLossError(absl::StrCat(whole.path, ": it is damaged: its SHA-256 is wrong"));
}

}  // namespace reprise::internal
