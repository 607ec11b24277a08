#ifndef MODELS_TOKENIZER_CONFIG_TOKENS_H_
#define MODELS_TOKENIZER_CONFIG_TOKENS_H_

// What Transformers (4.57 and 5.24) makes of tokenizer.json with the files beside it: it adds the tokens that they
// name, and searches texts for them. Reprise does the same where it can without a token that tokenizer.json does not
// list, and else refuses the files.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/tokenizer/tokenizer_config.h"
#include "models/tokenizer/tokenizer_file.h"

namespace reprise::models {

// Returns the command with which Transformers writes tokenizer.json with all tokens that it knows.
std::string WritingCommand(const std::string& directory);

// Applies tokenizer_config.json to the added tokens of tokenizer.json: the flags in added_tokens_decoder replace
// theirs, and a token that has a use becomes a special one. InvalidArgument, with a remedy, for a token that is not
// among them or has another id, for flags that the versions of Transformers understand differently, and for settings
// under which texts get other tokens. `directory` is where the files are, "" if nowhere.
absl::Status ApplyTokenizerConfig(const SpecialTokenNames& names, const std::string& directory, TokenizerFile& file);

// The same for special_tokens_map.json, which Transformers reads beside a tokenizer_config.json without
// added_tokens_decoder.
absl::Status ApplySpecialTokensMap(const SpecialTokenNames& names, const std::string& directory, TokenizerFile& file);

// InvalidArgument for the first of the tokens that tokenizer.json does not list, or lists with another id.
absl::Status RequireTokens(std::vector<NamedToken> tokens, const std::string& directory, const TokenizerFile& file);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_CONFIG_TOKENS_H_
