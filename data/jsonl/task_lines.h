#ifndef DATA_JSONL_TASK_LINES_H_
#define DATA_JSONL_TASK_LINES_H_

// Problems from a JSON-lines file: one object per line, {"prompt": "12+7=", "answer": "19"}. The answer may be missing
// or null; other members are kept, as they are written, for an external process that is asked about the problem.

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

// Parses one task per line, in order. A byte order mark at the beginning, lines of white space alone and a carriage
// return at the end of a line are passed over, and the last line needs no newline. DataLoss "<name>:<line>:<column>:
// <sentence>", which states what is expected, if a line is longer than kMaxLineBytes, is not one object in strict JSON
// (core/json: UTF-8, no duplicate key, depth 64), lacks its prompt or has an empty one, or has a prompt
// or answer that is not a string; and if there is no problem. Pure.
absl::StatusOr<std::vector<Task>> ParseTaskLines(absl::string_view text, absl::string_view name);

struct TaskFile {
  std::vector<Task> tasks;
  Digest sha256 = {};  // of the file's bytes
};

// The same for a file, which is read piece by piece: of a refused file, at most one line is held in memory.
absl::StatusOr<TaskFile> ReadTaskFile(FileSystem& files, const std::string& path);

}  // namespace reprise::data

#endif  // DATA_JSONL_TASK_LINES_H_
