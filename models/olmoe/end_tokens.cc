#include "models/olmoe/end_tokens.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/special_tokens_map.h"
#include "models/tokenizer/tokenizer_config.h"

namespace reprise::models {
namespace {

void AddOnce(int32_t token, std::vector<int32_t>* tokens) {
  if (std::find(tokens->begin(), tokens->end(), token) == tokens->end()) tokens->push_back(token);
}

// Adds eos_token_id, which is a number, a list or null.
absl::Status AddGenerationConfig(const std::string& text, int64_t vocab_size, std::vector<int32_t>* tokens) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  if (!document.root().is_object()) return document.root().Error("expected an object");
  const std::optional<JsonValue> eos = document.root().Find("eos_token_id");
  if (!eos) return absl::OkStatus();
  std::vector<JsonValue> ids = {*eos};
  if (eos->is_array()) {
    ASSIGN_OR_RETURN(ids, eos->Elements());
  }
  for (const JsonValue& id : ids) {
    ASSIGN_OR_RETURN(const int64_t token, id.Integer(0, vocab_size - 1));
    AddOnce(static_cast<int32_t>(token), tokens);
  }
  return absl::OkStatus();
}

// Adds eos_token, which is the token's text.
absl::Status AddSpecialTokensMap(const std::string& text, const Tokenizer& tokenizer, std::vector<int32_t>* tokens) {
  ASSIGN_OR_RETURN(const SpecialTokenNames names, ParseTokenizerConfig(text));
  if (!names.eos) return absl::OkStatus();
  const std::optional<int32_t> token = tokenizer.TokenToId(*names.eos);
  if (!token) {
    return absl::InvalidArgumentError(
        absl::StrCat("/eos_token: the token \"", *names.eos,
                     "\" is not in tokenizer.json, so it cannot end a text; name one that "
                     "is, or remove it"));
  }
  AddOnce(*token, tokens);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> EndTokens(const std::string& directory, const DecoderConfig& config,
                                               const Tokenizer& tokenizer) {
  std::vector<int32_t> tokens;
  if (tokenizer.eos_id()) tokens.push_back(*tokenizer.eos_id());
  for (const int32_t token : config.eos_token_id) AddOnce(token, &tokens);
  ASSIGN_OR_RETURN(const std::string generation, ReadGenerationConfig(directory));
  if (!generation.empty()) {
    RETURN_IF_ERROR(WithContext(AddGenerationConfig(generation, config.vocab_size, &tokens),
                                JoinPath(directory, "generation_config.json")));
  }
  ASSIGN_OR_RETURN(const std::string special_tokens, ReadSpecialTokensMap(directory));
  if (special_tokens.empty()) return tokens;
  RETURN_IF_ERROR(
      WithContext(AddSpecialTokensMap(special_tokens, tokenizer, &tokens), JoinPath(directory, kSpecialTokensMapFile)));
  return tokens;
}

}  // namespace reprise::models
