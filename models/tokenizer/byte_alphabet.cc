#include "models/tokenizer/byte_alphabet.h"

#include <array>

namespace reprise::models {
namespace {

constexpr int kCharacters = 0x144;  // the last one, U+0143, stands for byte 0xAD

struct Alphabet {
  std::array<uint16_t, 256> character_of{};
  std::array<int16_t, kCharacters> byte_of{};  // -1: stands for no byte
};

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.byte_of.fill(-1);
  uint16_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const uint16_t character = StandsForItself(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.character_of[byte] = character;
    alphabet.byte_of[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

std::string ByteToText(uint8_t byte) {
  const uint16_t character = kAlphabet.character_of[byte];
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xc0 | character >> 6), static_cast<char>(0x80 | (character & 0x3f))};
}

std::string BytesToText(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += ByteToText(static_cast<uint8_t>(byte));
  return text;
}

std::optional<std::string> TextToBytes(absl::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    int character = static_cast<uint8_t>(text[i]);
    if (character >= 0x80) {  // every character of the alphabet has at most two bytes in UTF-8
      if (character < 0xc2 || character > 0xdf || i + 1 == text.size()) return std::nullopt;
      character = (character & 0x1f) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f);
    }
    if (character >= kCharacters || kAlphabet.byte_of[character] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.byte_of[character]));
  }
  return bytes;
}

}  // namespace reprise::models
