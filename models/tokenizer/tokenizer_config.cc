#include "models/tokenizer/tokenizer_config.h"

#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

absl::StatusOr<std::optional<std::string>> Token(const JsonValue& config, absl::string_view key) {
  const std::optional<JsonValue> value = config.Find(key);
  if (!value) return std::nullopt;
  const std::optional<JsonValue> content = value->Find("content");
  const absl::StatusOr<absl::string_view> text = content ? content->String() : value->String();
  if (text.ok()) return std::string(*text);
  return value->Error("expected a string or an object whose \"content\" is a string");
}

}  // namespace

absl::StatusOr<SpecialTokenNames> ParseTokenizerConfig(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  if (!document.root().is_object()) return document.root().Error("expected an object");
  SpecialTokenNames names;
  ASSIGN_OR_RETURN(names.bos, Token(document.root(), "bos_token"));
  ASSIGN_OR_RETURN(names.eos, Token(document.root(), "eos_token"));
  ASSIGN_OR_RETURN(names.pad, Token(document.root(), "pad_token"));
  return names;
}

}  // namespace reprise::models
