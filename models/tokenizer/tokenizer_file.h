#ifndef MODELS_TOKENIZER_TOKENIZER_FILE_H_
#define MODELS_TOKENIZER_TOKENIZER_FILE_H_

// The checked contents of tokenizer.json (Hugging Face's tokenizers) for a BPE tokenizer.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/added_tokens.h"
#include "models/tokenizer/byte_pair_encoder.h"
#include "models/tokenizer/decoder.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace reprise::models {

struct TokenizerFile {
  absl::flat_hash_map<std::string, int32_t> vocabulary;  // as written in the file; ids are distinct, not negative
  std::vector<Merge> merges;                             // by rank; no pair appears twice
  bool ignore_merges = false;
  std::optional<UnknownToken> unknown;
  std::string subword_prefix, word_suffix;  // of the tokens of all characters of a word but the first, and of its last
  std::optional<std::array<int32_t, 256>> byte_fallback;  // the tokens of bytes, -1: none
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  bool is_byte_level = false;  // words are in the characters that stand for bytes
  std::optional<TokenDecoder> decoder;
  std::vector<AddedToken> added_tokens;  // contents and ids are distinct, and match the vocabulary
  std::optional<bool> add_prefix_space;  // of a pre-tokenizer that is ByteLevel, not a Sequence with it
  std::string padding_token;             // of "padding"; empty if there is none
};

// InvalidArgument with the place of a malformed field (JSON pointer); Unimplemented for another kind of tokenizer, or a
// part that Reprise does not support. "truncation" and the rest of "padding" are ignored: the caller handles them.
absl::StatusOr<TokenizerFile> ParseTokenizerFile(absl::string_view json);

// Fills `spelling` of the added tokens that are normalized. Errors of Normalize, with the token.
absl::Status SpellAddedTokens(TokenizerFile& file);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_TOKENIZER_FILE_H_
