#ifndef MODELS_TOKENIZER_TOKENIZER_CONFIG_H_
#define MODELS_TOKENIZER_TOKENIZER_CONFIG_H_

// Reads what Transformers' tokenizer_config.json adds to tokenizer.json: which tokens begin, end and pad a text, which
// other tokens it takes for granted, and how texts are searched for them. special_tokens_map.json has the same fields.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::models {

// Those of AddedToken, with the defaults of Transformers.
struct TokenFlags {
  bool special = false, normalized = true, single_word = false, lstrip = false, rstrip = false;
};

// A token that Transformers adds to those of tokenizer.json that texts are searched for.
struct NamedToken {
  std::string content{};              // not empty
  std::string place{};                // a JSON Pointer
  std::optional<int64_t> id{};        // as the file says it
  std::optional<TokenFlags> flags{};  // of a token that is an object
  bool is_list = false;               // of a list of special tokens
  bool is_newer = false;              // Transformers 4 does not add it
};

struct SpecialTokenNames {
  std::optional<std::string> bos, eos, pad;
  std::vector<NamedToken> special;  // also those three
  std::vector<NamedToken> added;    // of added_tokens_decoder
  bool has_added_tokens = false;    // added_tokens_decoder, beside which Transformers reads neither of the older files
  bool names_padding = false;       // "pad_token" is there, perhaps as null
  bool split_special_tokens = false;
  std::optional<bool> add_prefix_space;
  bool keeps_prefix_space = false;  // "add_prefix_space" is null
};

// A token is a string, or an object with "content". InvalidArgument naming a malformed field.
absl::StatusOr<SpecialTokenNames> ParseTokenizerConfig(absl::string_view json);

// Reads added_tokens.json, an object of ids by tokens. Errors of ParseTokenizerConfig.
absl::StatusOr<std::vector<NamedToken>> ParseAddedTokens(absl::string_view json);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_TOKENIZER_CONFIG_H_
