#ifndef MODELS_TOKENIZER_BYTE_ALPHABET_H_
#define MODELS_TOKENIZER_BYTE_ALPHABET_H_

// The alphabet of byte-level tokenizers (GPT-2): each byte is written as one printable character, so that a vocabulary
// is readable text. Printable Latin-1 bytes stand for themselves, the others for U+0100, U+0101, ... in byte order.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise::models {

// Returns the character, in UTF-8, that stands for `byte`.
std::string ByteToText(uint8_t byte);

// Returns the characters that stand for the bytes.
std::string BytesToText(absl::string_view bytes);

// Returns the bytes that the characters of `text` stand for, or nothing if one of them stands for no byte.
std::optional<std::string> TextToBytes(absl::string_view text);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_BYTE_ALPHABET_H_
