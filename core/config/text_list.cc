#include "core/config/text_list.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::config {
namespace {

absl::StatusOr<std::vector<std::string>> TextsOf(const std::string& json) {
  std::vector<std::string> texts;
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, document.root().Elements());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view text, element.String());
    if (text.empty()) return element.Error("an empty text would match everywhere");
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TextListOf(absl::string_view key, const std::string& json) {
  if (json.empty()) return std::vector<std::string>();
  absl::StatusOr<std::vector<std::string>> texts = TextsOf(json);
  if (texts.ok()) return texts;
  return absl::InvalidArgumentError(
      absl::StrCat(key, " is not a JSON list of texts, such as [\"</answer>\"]: ", texts.status().message()));
}

}  // namespace reprise::config
