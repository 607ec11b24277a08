#ifndef BENCHMARKS_GATE_COMMAND_H_
#define BENCHMARKS_GATE_COMMAND_H_

// The command lines of gates.toml: words between spaces, no quotes and no shell. {scratch} is a directory that is new
// for each execution, {prepared} one that a gate keeps while it is judged.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::gate {

// The words of a command with its placeholders filled in.
std::vector<std::string> CommandWords(absl::string_view command, const std::string& scratch,
                                      const std::string& prepared);

// The Bazel labels of the programs that a command names: bazel-bin/pipelines/train is //pipelines:train.
std::vector<std::string> LabelsOf(absl::string_view command);

struct Execution {
  std::string out;     // what it printed on stdout
  double seconds = 0;  // from its start to its end
};

// Runs a program in `directory`; its own path is taken from there too. NotFound when it cannot be started; Internal,
// with the last line that it told, when it ends with another exit code than 0 or is killed after `limit_seconds` with
// all that it started.
absl::StatusOr<Execution> Execute(const std::vector<std::string>& words, const std::string& directory,
                                  double limit_seconds);

}  // namespace reprise::gate

#endif  // BENCHMARKS_GATE_COMMAND_H_
