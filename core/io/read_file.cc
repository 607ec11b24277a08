#include "core/io/read_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise {

absl::StatusOr<std::string> ReadFile(FileSystem& files, absl::string_view path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const FileInfo info, files.Stat(path));
  const auto too_large = [&](int64_t size) {
    return absl::DataLossError(
        absl::StrCat("cannot read ", path, ": it has ", size, " bytes, more than the limit of ", max_bytes));
  };
  if (info.is_directory) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; expected a file"));
  if (info.size > max_bytes) return too_large(info.size);
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  std::string bytes;
  // Reads to the end, not to info.size: the size of /proc/... is 0, and a file may grow.
  for (int64_t wanted = info.size + 1; wanted > 0;) {
    ASSIGN_OR_RETURN(std::string part, file->ReadAt(static_cast<int64_t>(bytes.size()), wanted));
    const bool at_end = static_cast<int64_t>(part.size()) < wanted;
    bytes.empty() ? bytes.swap(part) : static_cast<void>(bytes.append(part));
    if (static_cast<int64_t>(bytes.size()) > max_bytes) return too_large(static_cast<int64_t>(bytes.size()));
    if (at_end) break;
    wanted = std::min<int64_t>(int64_t{1} << 20, max_bytes - static_cast<int64_t>(bytes.size()) + 1);
  }
  RETURN_IF_ERROR(file->Close());
  return bytes;
}

absl::StatusOr<bool> Exists(FileSystem& files, absl::string_view path) {
  const auto info = files.Stat(path);
  if (info.ok()) return true;
  if (absl::IsNotFound(info.status())) return false;
  return info.status();
}

}  // namespace reprise
