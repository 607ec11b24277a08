#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/io/full_transfer.h"
#include "core/io/missing_call.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// Repeats a call that a signal interrupted.
template <typename Call>
int Retry(const Call& call) {
  int result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

DIR* OpenDirectory(const char* name) {
  DIR* directory;
  do {
    directory = ::opendir(name);
  } while (directory == nullptr && errno == EINTR);
  return directory;
}

absl::Status StatusOf(int result, absl::string_view action, absl::string_view path) {
  return result < 0 ? FileError(errno, action, path) : absl::OkStatus();
}

// close(2) releases the descriptor even when it fails, so it is never retried; an interrupted close has closed it.
absl::Status CloseDescriptor(int fd, absl::string_view path) {
  if (::close(fd) < 0 && errno != EINTR) return FileError(errno, "close", path);
  return absl::OkStatus();
}

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status Append(absl::string_view bytes) override {
    // Only Append uses the file offset: WriteAt and ReadAt do not change it.
    return internal::WriteFully([this](const char* p, size_t n) { return ::write(fd_, p, n); }, bytes, path_);
  }

  absl::Status WriteAt(int64_t offset, absl::string_view bytes) override {
    const auto write = [this, &offset](const char* p, size_t n) {
      const ssize_t written = ::pwrite(fd_, p, n, static_cast<off_t>(offset));
      if (written > 0) offset += written;
      return written;
    };
    return internal::WriteFully(write, bytes, path_);
  }

  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) override {
    const auto read = [this](char* p, size_t n, off_t at) { return ::pread(fd_, p, n, at); };
    return internal::ReadFully(read, offset, size, path_);
  }

  absl::Status Sync() override {
    return StatusOf(Retry([&] { return ::fsync(fd_); }), "sync", path_);
  }

  absl::Status Close() override {
    const int fd = fd_;
    fd_ = -1;
    return CloseDescriptor(fd, path_);
  }

 private:
  int fd_;
  std::string path_;
};

int FlagsOf(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY | O_NONBLOCK;  // otherwise opening a pipe would wait for a writer
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::kAppend:
      return O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW;  // a link would lead the writer out of the directory
  }
  return O_RDONLY;
}

// Moves the descriptor above the standard ones: if those are closed, this program and its libraries would otherwise
// print into the file.
int AboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return above;
}

// Returns DataLoss for a pipe, a device or a socket: their size is not known, and some never end.
absl::Status CheckIsFile(int fd, absl::string_view path) {
  struct stat info;
  if (::fstat(fd, &info) < 0) return FileError(errno, "open", path);
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("cannot read ", path, ": it is not a regular file but ",
                                          S_ISFIFO(info.st_mode) ? "a pipe" : "a device or a socket"));
}

// For file systems without links: an empty file takes the name, which fails where there is one, and is replaced. Until
// then others see the empty file, and a process that is killed in between leaves it.
absl::Status ReserveAndRename(const std::string& from, const std::string& to) {
  const int fd = Retry([&] { return ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600); });
  if (fd < 0) return FileError(errno, "rename a file to", to);
  ::close(fd);
  if (Retry([&] { return ::rename(from.c_str(), to.c_str()); }) == 0) return absl::OkStatus();
  const int error = errno;
  ::unlink(to.c_str());
  return FileError(error, "rename a file to", to);
}

// For directories, which have no second link. An empty directory that another process gives that name in between is
// replaced.
absl::Status CheckAndRename(const std::string& from, const std::string& to) {
  struct stat info;
  if (::lstat(to.c_str(), &info) == 0) return FileError(EEXIST, "rename a file to", to);
  if (errno != ENOENT) return FileError(errno, "rename a file to", to);
  return StatusOf(Retry([&] { return ::rename(from.c_str(), to.c_str()); }), "rename a file to", to);
}

// The error of stat(2): a link may be there, and what it leads to not.
absl::Status NotFound(int error, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = error == ENOENT ? ::readlink(path.c_str(), target.data(), target.size()) : -1;
  if (size < 0) return FileError(error, "find", path);
  target.resize(static_cast<size_t>(size));
  return absl::NotFoundError(
      absl::StrCat("cannot find ", path, ": it is a symbolic link to ", target, ", which does not exist"));
}

class PosixFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path, OpenMode mode, int permissions) override {
    std::string name(path);
    const int fd = AboveStandard(Retry(
        [&] { return ::open(name.c_str(), FlagsOf(mode) | O_CLOEXEC | O_NOCTTY, static_cast<mode_t>(permissions)); }));
    if (fd < 0 && errno == ELOOP && mode == OpenMode::kAppend) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is a link, which is not followed: remove it"));
    }
    if (fd < 0) return FileError(errno, mode == OpenMode::kRead ? "open" : "create", path);
    auto file = std::make_unique<PosixFile>(fd, std::move(name));
    if (mode == OpenMode::kRead) RETURN_IF_ERROR(CheckIsFile(fd, path));
    return file;
  }

  absl::Status RenameNoReplace(absl::string_view from, absl::string_view to) override {
    const std::string source(from), target(to);
    const int result =
        Retry([&] { return ::renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE); });
    if (result == 0) return absl::OkStatus();
    // File systems without the flag (NFS, some overlays) return EINVAL; link(2) refuses an existing name everywhere.
    // Some (vboxsf) have neither.
    if (!IsMissingCall(errno)) return FileError(errno, "rename a file to", to);
    struct stat info;
    if (::lstat(source.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return CheckAndRename(source, target);
    if (Retry([&] { return ::link(source.c_str(), target.c_str()); }) == 0) return Unlink(from);
    return IsMissingCall(errno) || errno == EPERM ? ReserveAndRename(source, target)
                                                  : FileError(errno, "link a file to", to);
  }

  absl::Status Link(absl::string_view existing, absl::string_view name) override {
    const std::string source(existing), target(name);
    return StatusOf(Retry([&] { return ::link(source.c_str(), target.c_str()); }), "link a file to", name);
  }

  absl::Status Unlink(absl::string_view path) override {
    const std::string name(path);
    return StatusOf(Retry([&] { return ::unlink(name.c_str()); }), "remove", path);
  }

  absl::Status CreateDirectory(absl::string_view path) override {
    const std::string name(path);
    return StatusOf(Retry([&] { return ::mkdir(name.c_str(), 0777); }), "create the directory", path);
  }

  absl::Status RemoveDirectory(absl::string_view path) override {
    const std::string name(path);
    const int result = Retry([&] { return ::rmdir(name.c_str()); });
    // A link to a directory is somebody else's, and stays.
    if (result != 0 && errno == ENOTDIR) return absl::NotFoundError(absl::StrCat(path, " is not a directory"));
    return StatusOf(result, "remove the directory", path);
  }

  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) override {
    const std::string name(path);
    DIR* const directory = OpenDirectory(name.c_str());
    if (directory == nullptr) return FileError(errno, "list", path);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const absl::string_view entry_name = entry->d_name;
      if (entry_name != "." && entry_name != "..") names.emplace_back(entry_name);
      errno = 0;
    }
    const int read_error = errno;
    const int close_error = ::closedir(directory) < 0 ? errno : 0;
    if (read_error != 0) return FileError(read_error, "list", path);
    if (close_error != 0) return FileError(close_error, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<FileInfo> Stat(absl::string_view path) override {
    const std::string name(path);
    struct stat info;
    if (Retry([&] { return ::stat(name.c_str(), &info); }) < 0) return NotFound(errno, name);
    const bool is_directory = S_ISDIR(info.st_mode);
    return FileInfo{.is_directory = is_directory, .size = is_directory ? 0 : static_cast<int64_t>(info.st_size)};
  }

  absl::Status SyncDirectory(absl::string_view path) override {
    const std::string name(path);
    const int fd = Retry([&] { return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) return FileError(errno, "sync the directory", path);
    int result = Retry([&] { return ::fsync(fd); });
    // Not every file system can sync a directory (CIFS, vboxsf, some FUSE ones): its names are then as durable as they
    // can be.
    if (result < 0 && (IsMissingCall(errno) || errno == EBADF)) result = 0;
    const absl::Status synced = StatusOf(result, "sync the directory", path);
    const absl::Status closed = CloseDescriptor(fd, path);
    return synced.ok() ? closed : synced;
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  static PosixFiles* const files = new PosixFiles;
  return *files;
}

}  // namespace reprise
