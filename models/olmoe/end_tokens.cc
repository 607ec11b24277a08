#include "models/olmoe/end_tokens.h"

#include <algorithm>
#include <optional>

#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"

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

}  // namespace

absl::StatusOr<std::vector<int32_t>> EndTokens(const std::string& directory, const DecoderConfig& config,
                                               const Tokenizer& tokenizer) {
  std::vector<int32_t> tokens;
  if (tokenizer.eos_id()) tokens.push_back(*tokenizer.eos_id());
  for (const int32_t token : config.eos_token_id) AddOnce(token, &tokens);
  ASSIGN_OR_RETURN(const std::string text, ReadGenerationConfig(directory));
  if (text.empty()) return tokens;
  RETURN_IF_ERROR(WithContext(AddGenerationConfig(text, config.vocab_size, &tokens),
                              JoinPath(directory, "generation_config.json")));
  return tokens;
}

}  // namespace reprise::models
