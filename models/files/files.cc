#include "models/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

absl::Status WriteAll(int file, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteAndSync(const std::string& path, absl::Span<const absl::string_view> pieces) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return FileError(errno, "create", path);
  const absl::Cleanup close_file = [file] { close(file); };
  for (absl::string_view piece : pieces) RETURN_IF_ERROR(WriteAll(file, piece, path));
  return fsync(file) == 0 ? absl::OkStatus() : FileError(errno, "sync", path);
}

absl::Status SyncDirectory(const std::string& path) {
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return FileError(errno, "open", path);
  const absl::Cleanup close_directory = [directory] { close(directory); };
  return fsync(directory) == 0 ? absl::OkStatus() : FileError(errno, "sync", path);
}

absl::StatusOr<size_t> SizeOfRegularFile(int file, const std::string& path) {
  struct stat about;
  if (fstat(file, &about) != 0) return FileError(errno, "examine", path);
  if (!S_ISREG(about.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  return static_cast<size_t>(about.st_size);
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, absl::Span<const absl::string_view> pieces) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".partial");
  absl::Status status = WriteAndSync(temporary, pieces);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = FileError(errno, "rename to", path);
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  const std::string directory = std::filesystem::path(path).parent_path();
  return SyncDirectory(directory.empty() ? "." : directory);
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError(errno, "open", path);
  const absl::Cleanup close_file = [file] { close(file); };
  ASSIGN_OR_RETURN(const size_t size, SizeOfRegularFile(file, path));
  if (size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", size, " bytes; at most ", max_bytes, " are read"));
  }
  std::string bytes(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t count = read(file, bytes.data() + filled, size - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "read", path);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace reprise::models
