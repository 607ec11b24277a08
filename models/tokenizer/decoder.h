#ifndef MODELS_TOKENIZER_DECODER_H_
#define MODELS_TOKENIZER_DECODER_H_

// Makes a text of the spelling of tokens. The steps are those of Hugging Face's tokenizers: each changes a list of
// strings, at first the tokens', and the last list is joined.

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace reprise::models {

// All strings become one, of the bytes for which their characters stand; a string that has other characters stands for
// itself. Bytes that are not UTF-8 become U+FFFD.
struct DecodeByteLevel {};

// The strings become one.
struct Fuse {};

// Runs of "<0xE2>" and the like become the characters of these bytes, or U+FFFD for each byte if they are no UTF-8.
struct DecodeByteFallback {};

// Each `from`, which is not empty, becomes `to`.
struct ReplaceText {
  std::string from, to;
};

// Removes `content`, one character, at most `start` times from the beginning and `stop` times from the end of a string.
struct StripCharacters {
  std::string content;
  size_t start = 0, stop = 0;
};

// `replacement` becomes a space, and nothing in the first string if `drops_first`.
struct DecodeMetaspace {
  std::string replacement;
  bool drops_first = true;
};

// A space before each string but the first, unless it begins with `prefix`, which is removed. `cleanup`: without the
// spaces before punctuation and contractions of English.
struct DecodeWordPiece {
  std::string prefix;
  bool cleanup = true;
};

// `suffix` becomes a space, and nothing in the last string.
struct DecodeSuffix {
  std::string suffix;
};

using TokenDecoder = std::vector<std::variant<DecodeByteLevel, Fuse, DecodeByteFallback, ReplaceText, StripCharacters,
                                              DecodeMetaspace, DecodeWordPiece, DecodeSuffix>>;

// Returns the text of tokens as a file spells them. Precondition: they are valid UTF-8.
std::string DecodeTokens(const TokenDecoder& decoder, std::vector<std::string> tokens);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_DECODER_H_
