#ifndef CORE_IO_FILE_LOCK_H_
#define CORE_IO_FILE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

// A lock that the operating system releases when its process ends, however that happens: flock(2). It keeps two
// processes of a person from doing the same work; it is no protection of data, because network file systems may ignore
// it or keep the lock of a machine that was cut off.
class FileLock {
 public:
  // Holds nothing.
  FileLock() = default;
  // kShared: any number of processes hold the lock at a time, while none holds it alone.
  enum class Sharing { kAlone, kShared };
  // Creates `path` if needed and locks it. If another process holds it, the result holds nothing and `holder` is what
  // that process wrote as `note` (of several, the last one), which may be empty; errors are FileError's. A file system
  // without locks is none: there the lock is held, and excludes nobody.
  static absl::StatusOr<FileLock> Try(const std::string& path, absl::string_view note, std::string* holder,
                                      Sharing sharing = Sharing::kAlone);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  bool is_held() const { return descriptor_ >= 0; }
  // Whether the lock, if it is held, excludes others.
  bool excludes() const { return excludes_; }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  bool excludes_ = true;
};

}  // namespace reprise

#endif  // CORE_IO_FILE_LOCK_H_
