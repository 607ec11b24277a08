#include "models/tokenizer/tokenizer_config.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
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

absl::StatusOr<bool> FlagOr(const JsonValue& object, absl::string_view key, bool absent) {
  const std::optional<JsonValue> value = object.Find(key);
  if (!value) return absent;
  return value->Bool();
}

absl::StatusOr<TokenFlags> FlagsOf(const JsonValue& token) {
  TokenFlags flags;
  ASSIGN_OR_RETURN(flags.special, FlagOr(token, "special", flags.special));
  ASSIGN_OR_RETURN(flags.normalized, FlagOr(token, "normalized", !flags.special));
  ASSIGN_OR_RETURN(flags.single_word, FlagOr(token, "single_word", flags.single_word));
  ASSIGN_OR_RETURN(flags.lstrip, FlagOr(token, "lstrip", flags.lstrip));
  ASSIGN_OR_RETURN(flags.rstrip, FlagOr(token, "rstrip", flags.rstrip));
  return flags;
}

// Appends the token unless it is empty: Transformers passes over such a one.
absl::Status Append(const JsonValue& token, NamedToken named, std::vector<NamedToken>* tokens) {
  ASSIGN_OR_RETURN(named.content, ContentOf(token));
  named.place = token.place();
  if (token.is_object()) {
    ASSIGN_OR_RETURN(named.flags, FlagsOf(token));
  }
  if (!named.content.empty()) tokens->push_back(std::move(named));
  return absl::OkStatus();
}

bool IsStandard(absl::string_view key) {
  return key == "bos_token" || key == "eos_token" || key == "pad_token" || key == "unk_token" || key == "sep_token" ||
         key == "cls_token" || key == "mask_token";
}

// Appends the token of a member such as "eos_token" or "image_token". Of the names that are not standard, those of
// other values are settings, such as "add_bos_token".
absl::Status AppendUse(absl::string_view key, const JsonValue& value, SpecialTokenNames& names) {
  if (value.is_null() || !absl::EndsWith(key, "_token")) return absl::OkStatus();
  const bool is_standard = IsStandard(key);
  if (!is_standard && !value.is_string() && !value.Find("content")) return absl::OkStatus();
  const size_t before = names.special.size();
  RETURN_IF_ERROR(Append(value, {.is_newer = !is_standard}, &names.special));
  if (names.special.size() == before) return absl::OkStatus();
  const std::string& content = names.special.back().content;
  if (key == "bos_token") names.bos = content;
  if (key == "eos_token") names.eos = content;
  if (key == "pad_token") names.pad = content;
  return absl::OkStatus();
}

// Appends the tokens of a list, or of an object by the names of their use.
absl::Status AppendAll(const JsonValue& config, absl::string_view key, NamedToken named,
                       std::vector<NamedToken>* tokens) {
  const std::optional<JsonValue> value = config.Find(key);
  if (!value) return absl::OkStatus();
  if (value->is_object()) {
    ASSIGN_OR_RETURN(const auto members, value->Members());
    for (const auto& [use, token] : members) RETURN_IF_ERROR(Append(token, named, tokens));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value->Elements());
  for (const JsonValue& token : elements) RETURN_IF_ERROR(Append(token, named, tokens));
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
  const JsonValue root = document.root();
  SpecialTokenNames names;
  ASSIGN_OR_RETURN(const auto members, root.Members());
  for (const auto& [key, value] : members) {
    names.names_padding |= key == "pad_token";
    names.keeps_prefix_space |= key == "add_prefix_space" && value.is_null();
    RETURN_IF_ERROR(AppendUse(key, value, names));
  }
  for (const absl::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    RETURN_IF_ERROR(AppendAll(root, key, {.is_list = true}, &names.special));
  }
  RETURN_IF_ERROR(
      AppendAll(root, "model_specific_special_tokens", {.is_list = true, .is_newer = true}, &names.special));
  const std::optional<JsonValue> added_tokens = root.Find("added_tokens_decoder");
  names.has_added_tokens = added_tokens.has_value();
  if (added_tokens) RETURN_IF_ERROR(AppendById(*added_tokens, &names.added));
  ASSIGN_OR_RETURN(names.split_special_tokens, FlagOr(root, "split_special_tokens", false));
  if (root.Find("add_prefix_space")) {
    ASSIGN_OR_RETURN(names.add_prefix_space, FlagOr(root, "add_prefix_space", false));
  }
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
