#include "models/safetensors/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/safetensors/header.h"

namespace reprise::models {
namespace {

struct FileBytes {
  std::shared_ptr<const void> owner;
  absl::Span<const std::byte> bytes;
};

absl::StatusOr<FileBytes> Read(const std::string& path, size_t size) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, PosixFileSystem().Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(std::string read, file->ReadAt(0, static_cast<int64_t>(size)));
  RETURN_IF_ERROR(file->Close());
  const auto bytes = std::make_shared<const std::string>(std::move(read));
  return FileBytes{bytes, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size())};
}

// Maps the file into memory; a file of a file system that does not map files (FUSE and network mounts often do not) is
// read.
absl::StatusOr<FileBytes> MapOrRead(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused below
  if (file < 0) return FileError(errno, "open", path);
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat about;
  if (fstat(file, &about) != 0) return FileError(errno, "examine", path);
  if (S_ISDIR(about.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  if (!S_ISREG(about.st_mode)) return absl::DataLossError(absl::StrCat(path, ": not a regular file"));
  const size_t size = static_cast<size_t>(about.st_size);
  if (size == 0) return FileBytes{};  // mmap refuses it; the header's parser reports the error
  void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED && errno == ENOMEM) return FileError(errno, "map", path);
  if (start == MAP_FAILED) return Read(path, size);
  return FileBytes{std::shared_ptr<const void>(start, [size](const void* p) { munmap(const_cast<void*>(p), size); }),
                   absl::MakeConstSpan(static_cast<const std::byte*>(start), size)};
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(FileBytes contents, MapOrRead(path));
  ASSIGN_OR_RETURN(SafetensorsFile file, FromBytes(contents.bytes, path));
  file.owner_ = std::move(contents.owner);
  return file;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::FromBytes(absl::Span<const std::byte> bytes, const std::string& name) {
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(bytes);
  if (!header.ok()) return WithContext(header.status(), name);
  SafetensorsFile file;
  file.path_ = name;
  file.metadata_ = std::move(header->metadata);
  for (SafetensorsEntry& entry : header->entries) {
    if (!entry.other_type.empty()) {
      file.unreadable_.emplace(std::move(entry.name), std::move(entry.other_type));
      continue;
    }
    file.index_[entry.name] = file.tensors_.size();
    file.tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                             bytes.subspan(header->data_start + entry.begin, entry.end - entry.begin)});
  }
  return file;
}

const TensorView* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

absl::StatusOr<TensorView> SafetensorsFile::Get(absl::string_view name) const {
  const TensorView* const tensor = Find(name);
  if (tensor != nullptr) return *tensor;
  if (const auto found = unreadable_.find(std::string(name)); found != unreadable_.end()) {
    return UnreadableTensor(path_, name, found->second);
  }
  return absl::NotFoundError(absl::StrCat(path_, ": tensor ", name, " is missing"));
}

absl::Status UnreadableTensor(absl::string_view path, absl::string_view name, absl::string_view type) {
  return absl::UnimplementedError(
      absl::StrCat(path, ": tensor ", name, " has elements of type ", type,
                   ", which are not read; expected F32, F64, F16 or BF16: take weights that are not "
                   "quantised"));
}

}  // namespace reprise::models
