#include "models/tokenizer/tokenizer_config.h"

#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

absl::StatusOr<std::string> ContentOf(const JsonValue& token) {
  const std::optional<JsonValue> content = token.Find("content");
  const absl::StatusOr<absl::string_view> text = content ? content->String() : token.String();
  if (text.ok()) return std::string(*text);
  return token.Error("expected a string or an object whose \"content\" is a string");
}

absl::StatusOr<std::optional<std::string>> Token(const JsonValue& config, absl::string_view key) {
  const std::optional<JsonValue> value = config.Find(key);
  if (!value) return std::nullopt;
  return ContentOf(*value);
}

// Appends the token unless it is empty: Transformers passes over such a one.
absl::Status Append(const JsonValue& token, NamedToken named, std::vector<NamedToken>* tokens) {
  ASSIGN_OR_RETURN(named.content, ContentOf(token));
  named.place = token.place();
  if (!named.content.empty()) tokens->push_back(std::move(named));
  return absl::OkStatus();
}

// Appends the tokens of a list, or of an object by the names of their use.
absl::Status AppendAll(const JsonValue& config, absl::string_view key, std::vector<NamedToken>* tokens) {
  const std::optional<JsonValue> value = config.Find(key);
  if (!value) return absl::OkStatus();
  if (value->is_object()) {
    ASSIGN_OR_RETURN(const auto members, value->Members());
    for (const auto& [use, token] : members) RETURN_IF_ERROR(Append(token, {}, tokens));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value->Elements());
  for (const JsonValue& token : elements) RETURN_IF_ERROR(Append(token, {}, tokens));
  return absl::OkStatus();
}

// Appends the tokens of added_tokens_decoder, an object of tokens by their ids.
absl::Status AppendById(const JsonValue& added_tokens, std::vector<NamedToken>* tokens) {
  ASSIGN_OR_RETURN(const auto members, added_tokens.Members());
  for (const auto& [key, token] : members) {
    int64_t id = 0;
    if (!absl::SimpleAtoi(key, &id)) return token.Error("expected the id of a token as its key");
    RETURN_IF_ERROR(Append(token, {.id = id}, tokens));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SpecialTokenNames> ParseTokenizerConfig(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  if (!document.root().is_object()) return document.root().Error("expected an object");
  SpecialTokenNames names;
  ASSIGN_OR_RETURN(names.bos, Token(document.root(), "bos_token"));
  ASSIGN_OR_RETURN(names.eos, Token(document.root(), "eos_token"));
  ASSIGN_OR_RETURN(names.pad, Token(document.root(), "pad_token"));
  for (const absl::string_view key : {"unk_token", "sep_token", "cls_token", "mask_token"}) {
    const std::optional<JsonValue> token = document.root().Find(key);
    if (token) RETURN_IF_ERROR(Append(*token, {.is_word = true}, &names.others));
  }
  for (const absl::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    RETURN_IF_ERROR(AppendAll(document.root(), key, &names.others));
  }
  const std::optional<JsonValue> added_tokens = document.root().Find("added_tokens_decoder");
  names.has_added_tokens = added_tokens.has_value();
  if (added_tokens) RETURN_IF_ERROR(AppendById(*added_tokens, &names.others));
  return names;
}

absl::StatusOr<std::vector<NamedToken>> ParseAddedTokens(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const auto members, document.root().Members());
  std::vector<NamedToken> tokens;
  for (const auto& [content, value] : members) {
    ASSIGN_OR_RETURN(const int64_t id, value.Integer(0, std::numeric_limits<int32_t>::max()));
    if (!content.empty()) tokens.push_back({.content = std::string(content), .place = value.place(), .id = id});
  }
  return tokens;
}

}  // namespace reprise::models
