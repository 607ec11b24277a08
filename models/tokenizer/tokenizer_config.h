#ifndef MODELS_TOKENIZER_TOKENIZER_CONFIG_H_
#define MODELS_TOKENIZER_TOKENIZER_CONFIG_H_

// Reads what Transformers' tokenizer_config.json adds to tokenizer.json: which tokens begin, end and pad a text, and
// which other tokens it takes for granted. special_tokens_map.json has the same fields.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::models {

// A token that Transformers adds to those of tokenizer.json where that file lacks it.
struct NamedToken {
  std::string content{};        // not empty
  std::string place{};          // a JSON Pointer
  std::optional<int64_t> id{};  // as the file says it
  bool is_word = false;         // it may be one of the vocabulary that texts are not searched for
};

struct SpecialTokenNames {
  std::optional<std::string> bos, eos, pad;
  std::vector<NamedToken> others;
  bool has_added_tokens = false;  // added_tokens_decoder, beside which Transformers reads neither of the older files
};

// A token is a string, or an object with "content". InvalidArgument naming a malformed field.
absl::StatusOr<SpecialTokenNames> ParseTokenizerConfig(absl::string_view json);

// Reads added_tokens.json, an object of ids by tokens. Errors of ParseTokenizerConfig.
absl::StatusOr<std::vector<NamedToken>> ParseAddedTokens(absl::string_view json);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_TOKENIZER_CONFIG_H_
