#include "data/jsonl/task_lines.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/byte_order_mark.h"
#include "core/io/foreign_format.h"
#include "core/json/json.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::data {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;
constexpr absl::string_view kForm = R"(expected one JSON object per line, as {"prompt": "12+7=", "answer": "19"})";
constexpr absl::string_view kPrepare =
    "; ./reprise prepare data makes such a file of another data set (docs/guides/own_data.md)";
constexpr absl::string_view kPrompt = "prompt", kAnswer = "answer";

// Formats "3: the sentence"; the column counts bytes from 1.
absl::Status At(size_t offset, absl::string_view sentence) {
  return absl::InvalidArgumentError(absl::StrCat(offset + 1, ": ", sentence));
}

// Returns all members except the two texts, as the line writes them: a number keeps all its digits.
absl::StatusOr<std::string> OtherMembers(absl::string_view line) {
  const auto members = MembersAsWritten(line);
  if (!members) return absl::InvalidArgumentError("not valid JSON");
  std::string others;
  for (const WrittenMember& member : *members) {
    if (member.name == kPrompt || member.name == kAnswer) continue;
    absl::StrAppend(&others, others.empty() ? "{" : ",", member.name_token, ":", member.value);
  }
  return others.empty() ? others : absl::StrCat(others, "}");
}

// Describes the format that a first line, which is not a JSON object, seems to have, and how to convert it to JSON
// lines; or returns "".
std::string OtherFormat(absl::string_view line, bool ends_early) {
  const auto converted = [](absl::string_view what, absl::string_view reader) {
    return absl::StrCat("; this looks like ", what, ": convert it, for example in Python with pandas.", reader,
                        "(\"FILE\").to_json(\"FILE.jsonl\", orient=\"records\", lines=True)");
  };
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  const std::string foreign = ForeignFormat(line);
  if (!foreign.empty()) return absl::StrCat("; ", foreign);
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
                                 members.size() > kShown ? ", ..." : "", "; ", kForm,
                                 key == kPrompt && !token ? kPrepare : ""));
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
  if (const absl::Status readable = value->Readable(); !readable.ok()) return At(offset, readable.message());
  if (value->is_array() && key == kPrompt) {
    return At(offset,
              "\"prompt\" is a list; expected the text that the model reads: convert messages with the "
              "model's chat template: ./reprise prepare data FILE --model DIR --output NEW does it");
  }
  return At(offset, absl::StrCat("\"", key, "\" is ",
                                 value->is_array()    ? "a list"
                                 : value->is_object() ? "an object"
                                                      : "not a string",
                                 "; expected a string; ", kForm));
}

absl::StatusOr<Task> ParseLine(absl::string_view line, bool is_first) {
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(line, JsonErrorPlace::kLeftOut);
  if (!document.ok()) {
    const bool is_foreign = is_first && !ForeignFormat(line).empty();  // which is named at the end of the message
    return NoObject(line, is_first, FindJsonError(line).value_or(0),
                    is_foreign ? "not valid JSON" : document.status().message());
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
  ASSIGN_OR_RETURN(task.more, OtherMembers(line));
  return task;
}

// Parses a text that arrives in pieces. Lines of white space alone are passed over, as JSON's own white space is.
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
    const bool is_foreign = tasks_.empty() && !ForeignFormat(begun_).empty();
    const absl::Status last = AddLine(begun_);  // a last line needs no newline
    if (!last.ok() && is_foreign) return last;
    if (!last.ok()) {
      return absl::DataLossError(absl::StrCat(last.message(), "; no newline follows: the file may be truncated"));
    }
    if (tasks_.empty()) return absl::DataLossError(absl::StrCat(name_, ": it holds no problem; ", kForm));
    return std::move(tasks_);
  }

 private:
  absl::Status Error(absl::string_view text) const {
    return absl::DataLossError(absl::StrCat(name_, ":", line_, ":", text));
  }

  absl::Status CheckLength(absl::string_view line) const {
    if (line.size() <= kMaxLineBytes) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(name_, ":", line_ + 1, ":1: the line has more than ", kMaxLineBytes, " bytes; ", kForm));
  }

  absl::Status AddLine(absl::string_view line) {
    RETURN_IF_ERROR(CheckLength(line));
    ++line_;
    if (line_ == 1) line = WithoutByteOrderMark(line);
    if (absl::StripAsciiWhitespace(line).empty()) return absl::OkStatus();
    absl::StatusOr<Task> task = ParseLine(line, tasks_.empty());
    if (!task.ok()) return Error(task.status().message());
    task->line = line_;
    tasks_.push_back(*std::move(task));
    return absl::OkStatus();
  }

  const std::string name_;
  std::string begun_;  // the incomplete line at the end of the pieces so far
  int64_t line_ = 0;   // complete lines so far
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
