#include "data/jsonl/task_lines.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"

namespace reprise::data {
namespace {

// All but the two texts.
absl::StatusOr<std::string> OtherMembers(const JsonValue& object, absl::string_view line) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  const bool has_others = std::any_of(members.begin(), members.end(), [](const auto& member) {
    return member.first != "prompt" && member.first != "answer";
  });
  if (!has_others) return std::string();
  auto others = nlohmann::ordered_json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (others.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  others.erase("prompt");
  others.erase("answer");
  return others.dump();
}

absl::StatusOr<Task> ParseLine(absl::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes; expected at most ", kMaxLineBytes));
  }
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(line));
  ASSIGN_OR_RETURN(const JsonValue prompt, document.root().Get("prompt"));
  ASSIGN_OR_RETURN(const absl::string_view prompt_text, prompt.String());
  if (prompt_text.empty()) return prompt.Error("expected a text that is not empty");
  Task task = {.prompt = std::string(prompt_text), .answer = ""};
  const std::optional<JsonValue> answer = document.root().Find("answer");
  task.has_answer = answer.has_value();
  if (answer) {
    ASSIGN_OR_RETURN(const absl::string_view answer_text, answer->String());
    task.answer = std::string(answer_text);
  }
  ASSIGN_OR_RETURN(task.more, OtherMembers(document.root(), line));
  return task;
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
