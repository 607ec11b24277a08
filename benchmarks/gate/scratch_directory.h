#ifndef BENCHMARKS_GATE_SCRATCH_DIRECTORY_H_
#define BENCHMARKS_GATE_SCRATCH_DIRECTORY_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace reprise::gate {

// A new, empty directory in TMPDIR. The destructor removes it with its contents.
class ScratchDirectory {
 public:
  // Returns a file error if the directory cannot be created.
  static absl::StatusOr<ScratchDirectory> Create();
  ~ScratchDirectory();
  ScratchDirectory(ScratchDirectory&& other) : path_(std::exchange(other.path_, "")) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_SCRATCH_DIRECTORY_H_
