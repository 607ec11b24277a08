#include "rl/environments/grid_navigation/action.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::rl::grid_navigation {
namespace {

absl::Status InRange(absl::string_view name, double value, double bound) {
  if (std::fabs(value) <= bound) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " out of range [-", bound, ", ", bound, "]"));
}

absl::Status ReadNumber(const JsonValue& object, absl::string_view key, double* number) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  ASSIGN_OR_RETURN(*number, value.Number());
  return absl::OkStatus();
}

}  // namespace

std::optional<ByteSpan> FirstObject(absl::string_view text) {
  const size_t begin = text.find('{');
  if (begin == absl::string_view::npos) return std::nullopt;
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;  // an escaped character does not end the string
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return ByteSpan{begin, i + 1};
  }
  return std::nullopt;
}

std::optional<ByteSpan> FlatObjectWith(absl::string_view text, absl::string_view key) {
  const std::string quoted = absl::StrCat("\"", key, "\"");
  for (size_t at = text.find(quoted); at != absl::string_view::npos; at = text.find(quoted, at + 1)) {
    const size_t before = text.substr(0, at).find_last_of("{}");
    const size_t after = text.find_first_of("{}", at);
    if (before == absl::string_view::npos || after == absl::string_view::npos) continue;
    if (text[before] == '{' && text[after] == '}') return ByteSpan{before, after + 1};
  }
  return std::nullopt;
}

absl::StatusOr<Action> ParseAction(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  const JsonValue root = document.root();
  Action action;
  RETURN_IF_ERROR(ReadNumber(root, "rotation_angle_degrees", &action.rotation_angle_degrees));
  RETURN_IF_ERROR(ReadNumber(root, "forward_meters", &action.forward_meters));
  RETURN_IF_ERROR(ReadNumber(root, "left_meters", &action.left_meters));
  if (root.Find("z_delta_meters")) RETURN_IF_ERROR(ReadNumber(root, "z_delta_meters", &action.z_delta_meters));
  if (const std::optional<JsonValue> answer = root.Find("answer")) {
    ASSIGN_OR_RETURN(const absl::string_view text, answer->String());
    action.answer = std::string(text);
  }
  if (const std::optional<JsonValue> done = root.Find("done")) {
    ASSIGN_OR_RETURN(action.done, done->Bool());
  }
  return action;
}

std::string ActionJson(const Action& action) {
  std::string json =
      absl::StrCat("{\"rotation_angle_degrees\":", action.rotation_angle_degrees,
                   ",\"forward_meters\":", action.forward_meters, ",\"left_meters\":", action.left_meters);
  if (action.z_delta_meters != 0) absl::StrAppend(&json, ",\"z_delta_meters\":", action.z_delta_meters);
  if (action.answer) absl::StrAppend(&json, ",\"answer\":\"", *action.answer, "\"");
  if (action.done) absl::StrAppend(&json, ",\"done\":true");
  return json + "}";
}

absl::Status ValidateAction(const Action& action, int64_t choices) {
  RETURN_IF_ERROR(InRange("forward_meters", action.forward_meters, 0.5));
  RETURN_IF_ERROR(InRange("left_meters", action.left_meters, 0.5));
  RETURN_IF_ERROR(InRange("z_delta_meters", action.z_delta_meters, 0.3));
  if (action.done && !action.answer) return absl::InvalidArgumentError("done=True but no answer provided");
  if (action.answer && !action.done) return absl::InvalidArgumentError("answer provided but done=False");
  if (action.answer && !ParseChoice(*action.answer, choices)) {
    return absl::InvalidArgumentError("Invalid answer format");
  }
  return absl::OkStatus();
}

std::optional<int64_t> ParseChoice(absl::string_view answer, int64_t choices) {
  if (answer.size() != 1 || !absl::ascii_isalpha(static_cast<unsigned char>(answer[0]))) return std::nullopt;
  const int64_t choice = absl::ascii_toupper(static_cast<unsigned char>(answer[0])) - 'A';
  return choice < choices ? std::optional<int64_t>(choice) : std::nullopt;
}

FoundAction FindAction(absl::string_view text, int64_t choices) {
  const auto parse = [&](const ByteSpan& span) -> absl::StatusOr<Action> {
    ASSIGN_OR_RETURN(Action action, ParseAction(text.substr(span.begin, span.end - span.begin)));
    RETURN_IF_ERROR(ValidateAction(action, choices));
    return action;
  };
  const std::optional<ByteSpan> first = FirstObject(text), flat = FlatObjectWith(text, "rotation_angle_degrees");
  if (first) {
    absl::StatusOr<Action> action = parse(*first);
    if (action.ok() || !flat || *flat == *first) {
      return {.object = *first, .is_first = true, .has_rotation = flat == first, .action = std::move(action)};
    }
  }
  if (flat) return {.object = *flat, .has_rotation = true, .action = parse(*flat)};
  return {.action = absl::InvalidArgumentError("no action found")};
}

}  // namespace reprise::rl::grid_navigation
