#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/directory_entry.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_digest.h"

namespace reprise::internal {

absl::StatusOr<const ArrayView*> Container::Find(absl::string_view path) const {
  const auto before = [](const ArrayView& array, absl::string_view path) { return array.info.path < path; };
  const auto it = std::lower_bound(arrays.begin(), arrays.end(), path, before);
  if (it == arrays.end() || it->info.path != path) return absl::DataLossError(absl::StrCat("it has no ", path));
  return &*it;
}

namespace {

// A file that has the size which its user block states.
struct SizedFile {
  std::unique_ptr<File> file;
  int64_t size = 0;
};

absl::StatusOr<SizedFile> OpenSized(FileSystem& files, absl::string_view path) {
  ASSIGN_OR_RETURN(const FileInfo info, files.Stat(path));
  if (info.is_directory) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; expected a file"));
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const std::string start, file->ReadAt(0, kUserBlockBytes));
  RETURN_IF_ERROR(WithContext(ParseUserBlock(start, info.size).status(), path));
  return SizedFile{std::move(file), info.size};
}

}  // namespace

absl::StatusOr<std::string> ReadContainerFile(FileSystem& files, absl::string_view path) {
  ASSIGN_OR_RETURN(const SizedFile sized, OpenSized(files, path));
  ASSIGN_OR_RETURN(std::string bytes, sized.file->ReadAt(0, sized.size));
  RETURN_IF_ERROR(sized.file->Close());
  return bytes;
}

absl::StatusOr<bool> IsContainerFile(FileSystem& files, absl::string_view path) {
  const absl::Status opened = OpenSized(files, path).status();
  const bool is_another = absl::IsNotFound(opened) || absl::IsInvalidArgument(opened) || absl::IsDataLoss(opened) ||
                          absl::IsUnimplemented(opened);
  if (!is_another) RETURN_IF_ERROR(opened);
  return opened.ok();
}

absl::StatusOr<bool> IsUnfinishedContainer(FileSystem& files, const std::string& path) {
  constexpr absl::string_view kSignature = "\x89HDF\r\n\x1a\n";
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (entry.is_link) return false;
  const absl::StatusOr<std::unique_ptr<File>> file = files.Open(path, OpenMode::kRead);
  const absl::Status opened = file.status();
  if (absl::IsNotFound(opened) || absl::IsInvalidArgument(opened) || absl::IsDataLoss(opened)) return false;
  RETURN_IF_ERROR(opened);
  const absl::StatusOr<std::string> start =
      (*file)->ReadAt(0, kUserBlockBytes + static_cast<int64_t>(kSignature.size()));
  if (absl::IsInvalidArgument(start.status())) return false;  // a directory
  RETURN_IF_ERROR(start.status());
  const auto begins = [](absl::string_view bytes, absl::string_view expected) {
    const bool is_nothing = bytes.find_first_not_of('\0') == absl::string_view::npos;
    return is_nothing || bytes.substr(0, expected.size()) == expected.substr(0, bytes.size());
  };
  const absl::string_view block = absl::string_view(*start).substr(0, kUserBlockBytes);
  return begins(block, kMagic) && begins(absl::string_view(*start).substr(block.size()), kSignature);
}

absl::StatusOr<Container> ParseContainer(absl::string_view file, const ArrayFinding& find) {
  Container container;
  ASSIGN_OR_RETURN(container.block, ParseUserBlock(file));
  if (Sha256(file.substr(static_cast<size_t>(kUserBlockBytes))) != container.block.body_digest) {
    return absl::DataLossError("it is damaged: its contents do not have the SHA-256 that it states");
  }
  ASSIGN_OR_RETURN(const std::vector<ArrayLocation> locations, find(file));
  RunDigest run;
  for (const ArrayLocation& location : locations) {
    const absl::string_view bytes =
        file.substr(static_cast<size_t>(location.offset), static_cast<size_t>(location.info.bytes()));
    container.arrays.push_back({location.info, bytes, Sha256(bytes)});
    run.Add(location.info, container.arrays.back().digest);
  }
  if (run.Finish() != container.block.run_digest) {
    return absl::DataLossError("it was edited: its contents do not have the run digest that it states");
  }
  return container;
}

}  // namespace reprise::internal
