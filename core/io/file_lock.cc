#include "core/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/missing_call.h"
#include "core/status/conditions.h"

namespace reprise {

absl::StatusOr<FileLock> FileLock::Try(const std::string& path, absl::string_view note, std::string* holder,
                                       Sharing sharing) {
  constexpr size_t kLongestNote = 256;
  // A link, also a hard one, or a pipe under this name is somebody else's: what it leads to is not written.
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (descriptor < 0 && errno != ELOOP && errno != EISDIR) return FileError(errno, "open", path);
  FileLock lock(descriptor);
  struct stat info;
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a regular file of one name: remove it, or move it away"));
  }
  int locked;
  do {
    locked = ::flock(descriptor, (sharing == Sharing::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB);
  } while (locked < 0 && errno == EINTR);
  if (locked < 0 && errno == EWOULDBLOCK) {
    std::string text(kLongestNote, '\0');
    const ssize_t read = ::pread(descriptor, text.data(), text.size(), 0);
    *holder = read > 0 ? text.substr(0, static_cast<size_t>(read)) : "";
    return FileLock();
  }
  if (locked < 0 && !IsMissingCall(errno)) return FileError(errno, "lock", path);
  lock.excludes_ = locked == 0;
  const absl::string_view kept = note.substr(0, kLongestNote);
  const bool is_written = ::ftruncate(descriptor, 0) == 0 &&
                          ::pwrite(descriptor, kept.data(), kept.size(), 0) == static_cast<ssize_t>(kept.size());
  if (!is_written) return FileError(errno, "write to", path);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), excludes_(other.excludes_) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(excludes_, other.excludes_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace reprise
