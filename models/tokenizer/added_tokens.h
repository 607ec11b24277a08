#ifndef MODELS_TOKENIZER_ADDED_TOKENS_H_
#define MODELS_TOKENIZER_ADDED_TOKENS_H_

// Finds added tokens, such as <eos>, in the text itself, before it is divided into words and merged.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "models/tokenizer/oniguruma/pattern.h"

namespace reprise::models {

struct AddedToken {
  int32_t id = 0;
  std::string content;       // not empty
  bool special = false;      // left out by Decode on request
  bool normalized = false;   // searched after normalization of the text, not before
  bool single_word = false;  // only if no adjacent character is a word character
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  std::string spelling{};    // if `normalized`: its content after normalization, perhaps empty
};

// A range of a text: a token, or text without tokens.
struct TextSegment {
  ByteRange range;
  std::optional<int32_t> token;
};

class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  // Returns the segments of the text, in order; no text segment is empty. The first match wins; of those at one place,
  // the longest. Precondition: valid UTF-8.
  std::vector<TextSegment> Split(absl::string_view text) const;

 private:
  const AddedToken* LongestAt(absl::string_view text) const;

  std::vector<AddedToken> tokens_;                       // longest first
  std::array<std::vector<int32_t>, 256> by_first_byte_;  // indices into tokens_, ascending
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ADDED_TOKENS_H_
