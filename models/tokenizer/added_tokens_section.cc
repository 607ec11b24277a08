#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxTokenId = (int64_t{1} << 24) - 1;

absl::StatusOr<bool> Flag(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  return value.Bool();
}

absl::StatusOr<AddedToken> ReadToken(const JsonValue& value) {
  AddedToken token;
  ASSIGN_OR_RETURN(const JsonValue id, value.Get("id"));
  ASSIGN_OR_RETURN(token.id, id.Integer(0, kMaxTokenId));
  ASSIGN_OR_RETURN(const JsonValue content, value.Get("content"));
  ASSIGN_OR_RETURN(const absl::string_view text, content.String());
  if (text.empty()) return content.Error("a token cannot be empty");
  token.content = std::string(text);
  ASSIGN_OR_RETURN(token.special, Flag(value, "special"));
  ASSIGN_OR_RETURN(token.normalized, Flag(value, "normalized"));
  ASSIGN_OR_RETURN(token.single_word, Flag(value, "single_word"));
  ASSIGN_OR_RETURN(token.lstrip, Flag(value, "lstrip"));
  ASSIGN_OR_RETURN(token.rstrip, Flag(value, "rstrip"));
  return token;
}

absl::Status WrongId(const JsonValue& element, const AddedToken& token, int64_t expected, bool is_known) {
  return element.Error(absl::StrCat(
      "\"", token.content, "\" has the id ", token.id, ", but Hugging Face's tokenizers give it ", expected, ", ",
      is_known
          ? "its id in /model/vocab; write the id there that the model was trained with"
          : "the next id that is free, as added tokens follow the vocabulary without a hole; list a token for each "
            "id before it, or write the id that the model was trained with"));
}

}  // namespace

absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensSection(
    const std::optional<JsonValue>& tokens, const absl::flat_hash_map<std::string, int32_t>& vocabulary) {
  std::vector<AddedToken> result;
  if (!tokens) return result;
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, tokens->Elements());
  absl::flat_hash_set<std::string> contents;
  int64_t next = static_cast<int64_t>(vocabulary.size());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(AddedToken token, ReadToken(element));
    if (!contents.insert(token.content).second) return element.Error("another token has the same content; remove one");
    // Hugging Face's tokenizers assign the ids themselves, whatever the file says: a token of the vocabulary keeps its
    // id, and the others follow.
    const auto known = vocabulary.find(token.content);
    const int64_t expected = known == vocabulary.end() ? next : known->second;
    if (token.id != expected) return WrongId(element, token, expected, known != vocabulary.end());
    next = std::max(next, expected + 1);
    result.push_back(std::move(token));
  }
  return result;
}

}  // namespace reprise::models
