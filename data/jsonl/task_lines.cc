#include "data/jsonl/task_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"

namespace reprise::data {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;
constexpr size_t kMostMembers = 4096;
constexpr absl::string_view kForm = R"(expected one JSON object per line, as {"prompt": "12+7=", "answer": "19"})";
constexpr absl::string_view kPrompt = "prompt", kAnswer = "answer";

// Formats "3: the sentence"; the column counts bytes from 1.
absl::Status At(size_t offset, absl::string_view sentence) {
  return absl::InvalidArgumentError(absl::StrCat(offset + 1, ": ", sentence));
}

// InvalidArgument if an object within `value` has more than kMostMembers members, which are kept in their order, so
// that each is looked for among all others.
absl::Status CheckMembers(const JsonValue& value) {
  if (value.is_array()) {
    ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
    for (const JsonValue& element : elements) RETURN_IF_ERROR(CheckMembers(element));
  }
  if (!value.is_object()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto members, value.Members());
  if (members.size() > kMostMembers) {
    return At(0, absl::StrCat(value.place().empty() ? "this object" : value.place(), " has ", members.size(),
                              " members; at most ", kMostMembers, " are allowed"));
  }
  for (const auto& [name, member] : members) RETURN_IF_ERROR(CheckMembers(member));
  return absl::OkStatus();
}

// Returns all members except the two texts.
absl::StatusOr<std::string> OtherMembers(const JsonValue& object, absl::string_view line) {
  RETURN_IF_ERROR(CheckMembers(object));
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

// Describes the format that a first line, which is not a JSON object, seems to have, and how to convert it to JSON
// lines; or returns "".
std::string OtherFormat(absl::string_view line, bool ends_early) {
  const auto converted = [](absl::string_view what, absl::string_view reader) {
    return absl::StrCat("; this looks like ", what, ": convert it, for example in Python with pandas.", reader,
                        "(\"FILE\").to_json(\"FILE.jsonl\", orient=\"records\", lines=True)");
  };
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  if (absl::StartsWith(text, "PAR1")) return converted("Parquet", "read_parquet");
  if (absl::StartsWith(line, "\x1f\x8b") || absl::StartsWith(line, "PK\x03") || absl::StartsWith(line, "(\xb5/\xfd")) {
    return "; this looks like a compressed file: unpack it";
  }
  if (absl::StartsWith(line, "\xef\xbb\xbf")) {
    return "; the file begins with a byte order mark (EF BB BF): save it without one";
  }
  // UTF-16 begins with a byte order mark, or one of its first two bytes is 0.
  const bool has_mark = absl::StartsWith(line, "\xff\xfe") || absl::StartsWith(line, "\xfe\xff");
  if (has_mark || (line.size() > 1 && (line[0] == '\0') != (line[1] == '\0'))) {
    return "; this looks like UTF-16: convert it, for example with iconv -f UTF-16 -t UTF-8 FILE > FILE.jsonl";
  }
  if (absl::StrContains(line, '\0')) return "; this looks like a binary file";
  if (absl::StartsWith(text, "[")) {
    return "; this looks like a JSON array: write one element per line, for example with jq -c '.[]' FILE > "
           "FILE.jsonl";
  }
  if (absl::StartsWith(text, "{")) {
    if (!ends_early) return "";
    return "; an object must not span several lines: write one per line, for example with jq -c . FILE > FILE.jsonl";
  }
  if (absl::StartsWith(text, "- ") || text == "---" || absl::EndsWith(text, ":") || absl::StrContains(text, ": ")) {
    return "; this looks like YAML: convert it";
  }
  if (absl::StrContains(text, ',') || absl::StrContains(text, ';') || absl::StrContains(text, '\t')) {
    return converted("CSV", "read_csv");
  }
  return "";
}

absl::Status NoObject(absl::string_view line, bool is_first, size_t offset, absl::string_view sentence) {
  return At(offset, absl::StrCat(sentence, "; ", kForm, is_first ? OtherFormat(line, offset == line.size()) : ""));
}

absl::Status Missing(absl::string_view line, const JsonValue& root, absl::string_view key) {
  ASSIGN_OR_RETURN(const auto members, root.Members());
  constexpr size_t kShown = 6, kMostBytes = 40;
  std::string has;
  for (size_t i = 0; i < members.size() && i < kShown; ++i) {
    absl::StrAppend(&has, i == 0 ? "" : ", ", Quoted(members[i].first, kMostBytes));
  }
  if (has.empty()) return At(0, absl::StrCat("\"", key, "\" is missing: the object is empty; ", kForm));
  const std::optional<JsonToken> token = FindMember(line, key);
  const size_t offset = token ? token->offset : 0;
  return At(offset, absl::StrCat("\"", key, "\" is ", token ? "null" : "missing", "; the line has ", has,
                                 members.size() > kShown ? ", ..." : "", "; ", kForm));
}

// Returns the text of a member that exists.
absl::StatusOr<std::string> TextOf(absl::string_view line, const JsonValue& root, absl::string_view key) {
  const std::optional<JsonValue> value = root.Find(key);
  if (!value) return Missing(line, root, key);
  const absl::StatusOr<absl::string_view> text = value->String();
  if (text.ok()) return std::string(*text);
  const std::optional<JsonToken> token = FindMember(line, key);
  const size_t offset = token ? token->offset : 0;
  if (value->is_number() && token) {
    return At(offset, absl::StrCat("\"", key, "\" is a number; expected a string: write it in quotes, as \"", key,
                                   "\": \"", token->text, "\""));
  }
  if (value->is_array() && key == kPrompt) {
    return At(offset,
              "\"prompt\" is a list; expected the text that the model reads: convert messages with their chat "
              "template, in Python with tokenizer.apply_chat_template(messages, tokenize=False, "
              "add_generation_prompt=True)");
  }
  return At(offset, absl::StrCat("\"", key, "\" is ",
                                 value->is_array()    ? "a list"
                                 : value->is_object() ? "an object"
                                                      : "not a string",
                                 "; expected a string; ", kForm));
}

absl::StatusOr<Task> ParseLine(absl::string_view line, bool is_first) {
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(line);
  if (!document.ok()) {
    return NoObject(line, is_first, FindJsonError(line).value_or(0), document.status().message());
  }
  const JsonValue root = document->root();
  if (!root.is_object()) return NoObject(line, is_first, 0, "this is not an object");
  Task task;
  ASSIGN_OR_RETURN(task.prompt, TextOf(line, root, kPrompt));
  if (task.prompt.empty()) {
    const auto token = FindMember(line, kPrompt);  // none if the name is written with escapes
    return At(token ? token->offset : 0, "\"prompt\" is empty; expected a string");
  }
  task.has_answer = root.Find(kAnswer).has_value();
  if (task.has_answer) {
    ASSIGN_OR_RETURN(task.answer, TextOf(line, root, kAnswer));
  }
  ASSIGN_OR_RETURN(task.more, OtherMembers(root, line));
  return task;
}

// Parses a text that arrives in pieces.
class LineParser {
 public:
  explicit LineParser(absl::string_view name) : name_(name) {}

  absl::Status Add(absl::string_view piece) {
    for (size_t end; (end = piece.find('\n')) != absl::string_view::npos; piece.remove_prefix(end + 1)) {
      absl::string_view line = piece.substr(0, end);
      if (!begun_.empty()) line = absl::string_view(begun_.append(line.data(), line.size()));
      RETURN_IF_ERROR(AddLine(line));
      begun_.clear();
    }
    begun_.append(piece.data(), piece.size());
    return CheckLength(begun_);
  }

  absl::StatusOr<std::vector<Task>> Finish() {
    if (!begun_.empty()) {
      return Error(absl::StrCat(
          "1: the last line does not end with a newline: the file may be truncated; if it is complete, end it with one",
          tasks_.empty() ? OtherFormat(begun_, /*ends_early=*/false) : ""));
    }
    if (tasks_.empty()) return absl::DataLossError(absl::StrCat(name_, ": it holds no problem; ", kForm));
    return std::move(tasks_);
  }

 private:
  absl::Status Error(absl::string_view text) const {
    return absl::DataLossError(absl::StrCat(name_, ":", tasks_.size() + 1, ":", text));
  }

  absl::Status CheckLength(absl::string_view line) const {
    if (line.size() <= kMaxLineBytes) return absl::OkStatus();
    return Error(absl::StrCat("1: the line has more than ", kMaxLineBytes, " bytes; ", kForm));
  }

  absl::Status AddLine(absl::string_view line) {
    RETURN_IF_ERROR(CheckLength(line));
    if (absl::StripAsciiWhitespace(line).empty()) return Error("1: the line is empty: remove it");
    absl::StatusOr<Task> task = ParseLine(line, tasks_.empty());
    if (!task.ok()) return Error(task.status().message());
    task->line = static_cast<int64_t>(tasks_.size()) + 1;
    tasks_.push_back(*std::move(task));
    return absl::OkStatus();
  }

  const std::string name_;
  std::string begun_;  // the incomplete line at the end of the pieces so far
  std::vector<Task> tasks_;
};

}  // namespace

absl::StatusOr<std::vector<Task>> ParseTaskLines(absl::string_view text, absl::string_view name) {
  LineParser parser(name);
  RETURN_IF_ERROR(parser.Add(text));
  return parser.Finish();
}

absl::StatusOr<TaskFile> ReadTaskFile(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.Open(path, OpenMode::kRead));
  LineParser parser(path);
  Sha256Stream digest;
  for (int64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const std::string piece, file->ReadAt(offset, kPiece));
    digest.Update(piece);
    RETURN_IF_ERROR(parser.Add(piece));
    offset += static_cast<int64_t>(piece.size());
    if (static_cast<int64_t>(piece.size()) < kPiece) break;
  }
  RETURN_IF_ERROR(file->Close());
  TaskFile result;
  ASSIGN_OR_RETURN(result.tasks, parser.Finish());
  result.sha256 = digest.Current();
  return result;
}

}  // namespace reprise::data
