#ifndef MODELS_TOKENIZER_CHARACTERS_H_
#define MODELS_TOKENIZER_CHARACTERS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise::models {

struct Character {
  int32_t code;
  size_t size;  // bytes
};

// Returns the first character of a text that is not empty. Precondition here and below: valid UTF-8.
Character FirstCharacter(absl::string_view text);

// Return whether the text begins or ends with a word character: a letter, mark, decimal or letter-like number,
// connector, or joiner (Unicode 16 and its Technical Standard 18, annex C, \w). False for an empty text.
bool BeginsWithWordCharacter(absl::string_view text);
bool EndsWithWordCharacter(absl::string_view text);

// Return the number of bytes of White_Space at the beginning, and at the end.
size_t LeadingSpace(absl::string_view text);
size_t TrailingSpace(absl::string_view text);

// Returns whether a character is White_Space.
bool IsSpace(int32_t code);

// Appends the character in UTF-8. Precondition: a scalar value of Unicode.
void AppendCharacter(int32_t code, std::string& text);

// Returns the text with each character in lower case, regardless of its neighbours (Unicode 17, section 3.13).
std::string ToLowercase(absl::string_view text);

// Returns the number of leading bytes of `bytes` that are valid UTF-8 (Unicode 15, table 3-7); bytes.size() if all are.
size_t ValidUtf8Prefix(absl::string_view bytes);

// Returns `bytes` with each maximal part of an invalid sequence replaced by U+FFFD (Unicode 15, section 3.9,
// "Substitution of Maximal Subparts"; Rust's String::from_utf8_lossy).
std::string ToValidUtf8(absl::string_view bytes);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_CHARACTERS_H_
