#ifndef DATA_JSONL_TASK_LINES_H_
#define DATA_JSONL_TASK_LINES_H_

// Problems from a JSON-lines file: one object a line, {"prompt": "12+7=", "answer": "19"}. The answer may be missing or
// null; other members are kept for a program that is asked about the problem.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "data/tasks/task.h"

namespace reprise::data {

inline constexpr size_t kMaxLineBytes = size_t{64} << 20;

// One task a line, in order. DataLoss "<name>:<line>:<column>: <sentence>", which says what is expected, when a line is
// longer than kMaxLineBytes, is not one object in strict JSON (core/json: UTF-8, no key twice, depth 64, finite
// numbers), or lacks its prompt, which must not be empty, or has a prompt or answer that is no text; when the last line
// does not end with a newline, as the file may be truncated; and when there is no line. Pure.
absl::StatusOr<std::vector<Task>> ParseTaskLines(absl::string_view text, absl::string_view name);

struct TaskFile {
  std::vector<Task> tasks;
  Digest sha256 = {};  // of the file's bytes
};

// The same of a file, read piece by piece: of what is refused no more than a line is held.
absl::StatusOr<TaskFile> ReadTaskFile(FileSystem& files, const std::string& path);

}  // namespace reprise::data

#endif  // DATA_JSONL_TASK_LINES_H_
