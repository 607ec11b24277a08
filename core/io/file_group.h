#ifndef CORE_IO_FILE_GROUP_H_
#define CORE_IO_FILE_GROUP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace reprise {

// New files that are of use only together, such as those of a model's directory: without Keep, the destructor removes
// what was written, so that after a full disk the same call can be repeated. (A killed process leaves what it wrote.)
class FileGroup {
 public:
  // `files` must outlive the group.
  explicit FileGroup(FileSystem& files) : files_(files) {}
  FileGroup(const FileGroup&) = delete;
  FileGroup& operator=(const FileGroup&) = delete;
  ~FileGroup();

  // Takes the result of writing `path` anew, and returns it. After AlreadyExists or NotFound, with which
  // another process shows that it writes the same files, the destructor removes none of those added until then.
  absl::Status Add(absl::string_view path, absl::Status written);
  void Keep() { paths_.clear(); }

 private:
  FileSystem& files_;
  std::vector<std::string> paths_;
};

}  // namespace reprise

#endif  // CORE_IO_FILE_GROUP_H_
