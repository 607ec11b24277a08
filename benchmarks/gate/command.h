#ifndef BENCHMARKS_GATE_COMMAND_H_
#define BENCHMARKS_GATE_COMMAND_H_

// The command lines of gates.toml: words separated by spaces, without quotes and without a shell. {scratch} is a new
// directory for each execution, {prepared} one that a gate keeps while it is judged.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::gate {

// Returns the words of a command with its placeholders replaced.
std::vector<std::string> CommandWords(absl::string_view command, const std::string& scratch,
                                      const std::string& prepared);

// Returns the Bazel labels of the programs that a command names: bazel-bin/pipelines/train is //pipelines:train.
std::vector<std::string> LabelsOf(absl::string_view command);

struct Execution {
  std::string out;     // its output on stdout
  double seconds = 0;  // from its start to its end
};

// Runs a program in `directory`; its own path is relative to that directory too. Errors: NotFound if it cannot be
// started; Internal if its exit code is not 0 (with the last line of its stderr), or if it does not end within
// `limit_seconds`, after which it is killed with its children.
absl::StatusOr<Execution> Execute(const std::vector<std::string>& words, const std::string& directory,
                                  double limit_seconds);

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

#endif  // BENCHMARKS_GATE_COMMAND_H_
