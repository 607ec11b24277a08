#ifndef MODELS_OLMOE_END_TOKENS_H_
#define MODELS_OLMOE_END_TOKENS_H_

// The tokens that end a text of a model. Four files name some, and which of them a program obeys differs: Transformers
// stops at those of generation_config.json, vLLM at those and at tokenizer_config.json's eos_token, TRL at the latter;
// config.json's hold where there is no generation_config.json, and special_tokens_map.json has the eos_token of
// tokenizers that Transformers 4 wrote.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "models/tokenizer/tokenizer.h"

namespace reprise::models {

// Returns the end tokens of all four files, each once: first the tokenizer's eos_token, with which written texts are
// ended, then those of config.json, then those of DIRECTORY/generation_config.json, then that of
// DIRECTORY/special_tokens_map.json, if there are such files. directory: empty for a model from scratch. The
// tokenizer's tokens must be in the model's vocabulary. InvalidArgument, beginning with the path, for a malformed or
// empty file or a token that the model lacks; FailedPrecondition for a link to nowhere.
absl::StatusOr<std::vector<int32_t>> EndTokens(const std::string& directory, const DecoderConfig& config,
                                               const Tokenizer& tokenizer);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_END_TOKENS_H_
