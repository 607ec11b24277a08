#include "data/jsonl/task_lines.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::data {
namespace {

absl::StatusOr<Task> ParseLine(absl::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes; expected at most ", kMaxLineBytes));
  }
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(line));
  ASSIGN_OR_RETURN(const JsonValue prompt, document.root().Get("prompt"));
  ASSIGN_OR_RETURN(const JsonValue answer, document.root().Get("answer"));
  ASSIGN_OR_RETURN(const absl::string_view prompt_text, prompt.String());
  ASSIGN_OR_RETURN(const absl::string_view answer_text, answer.String());
  if (prompt_text.empty()) return prompt.Error("expected a text that is not empty");
  return Task{std::string(prompt_text), std::string(answer_text)};
}

}  // namespace

absl::StatusOr<std::vector<Task>> ParseTaskLines(absl::string_view text, absl::string_view name) {
  std::vector<Task> tasks;
  while (!text.empty()) {
    const std::string place = absl::StrCat(name, ":", tasks.size() + 1, ": ");
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) {
      return absl::DataLossError(
          absl::StrCat(place,
                       "the last line does not end with a newline: the file may be truncated; if it is "
                       "complete, end it with one"));
    }
    absl::StatusOr<Task> task = ParseLine(text.substr(0, end));
    if (!task.ok()) return absl::DataLossError(absl::StrCat(place, task.status().message()));
    task->line = static_cast<int64_t>(tasks.size()) + 1;
    tasks.push_back(*std::move(task));
    text.remove_prefix(end + 1);
  }
  if (tasks.empty()) return absl::DataLossError(absl::StrCat(name, ": it holds no problem"));
  return tasks;
}

}  // namespace reprise::data
