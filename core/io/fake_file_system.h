#ifndef CORE_IO_FAKE_FILE_SYSTEM_H_
#define CORE_IO_FAKE_FILE_SYSTEM_H_

// A file system in memory for tests: any call can be made to fail, and power can be lost. Its rules are the strictest
// that POSIX allows: contents survive a loss of power only as of the last Sync of the file, names only as of the last
// SyncDirectory of their directory. A failing Append or WriteAt leaves half of its bytes behind.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file_system.h"

namespace reprise {

class FakeFileSystem final : public FileSystem {
 public:
  // Holds the directories "." and "/".
  FakeFileSystem();

  // Makes call number `call` (counted from 0 since construction, over File and FileSystem together) fail with errno
  // `error_number`; with `persistent` every later call that writes or creates something fails as well, as on a full
  // disk.
  void FailCall(int64_t call, int error_number, bool persistent = false);
  int64_t calls() const { return static_cast<int64_t>(log_.size()); }
  // Every call so far: "open a.tmp", "write a.tmp", "sync a.tmp", "rename a.tmp a", ...
  const std::vector<std::string>& log() const { return log_; }

  // What a machine finds after its power failed now. Open files are closed.
  void LosePower();

  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path, OpenMode mode, int permissions = 0644) override;
  absl::Status RenameNoReplace(absl::string_view from, absl::string_view to) override;
  absl::Status Link(absl::string_view existing, absl::string_view name) override;
  absl::Status Unlink(absl::string_view path) override;
  absl::Status CreateDirectory(absl::string_view path) override;
  absl::Status RemoveDirectory(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) override;
  absl::StatusOr<FileInfo> Stat(absl::string_view path) override;
  absl::Status SyncDirectory(absl::string_view path) override;

 private:
  friend class FakeFile;
  struct Node {
    bool is_directory = false;
    std::string bytes = {}, synced_bytes = {};
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  // Notes the call and returns its injected error, if any. `action` is one word, `writes` whether a full disk fails it.
  absl::Status Call(absl::string_view action, absl::string_view path, bool writes = true);
  absl::StatusOr<std::shared_ptr<Node>> Find(absl::string_view path) const;
  absl::Status CheckParent(absl::string_view path) const;
  std::vector<std::string> NamesIn(absl::string_view directory) const;

  Names names_, synced_names_;
  std::vector<std::string> log_;
  int64_t failing_call_ = -1;
  int error_number_ = 0;
  bool persistent_ = false;
};

}  // namespace reprise

#endif  // CORE_IO_FAKE_FILE_SYSTEM_H_
