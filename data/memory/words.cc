#include "data/memory/words.h"

#include <cstddef>
#include <cstdint>

#include "utf8proc.h"

namespace reprise::data {
namespace {

struct Character {
  int32_t code;  // negative: a byte that is not UTF-8
  size_t size;
};

// The first character of a non-empty text.
Character First(absl::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return {text[0], 1};
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &code);
  return size < 1 ? Character{-1, 1} : Character{code, static_cast<size_t>(size)};
}

bool IsSpace(int32_t code) {
  return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20) || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

}  // namespace

std::string LowerCase(absl::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const Character character = First(text);
    if (character.code >= 0 && character.code < 0x80) {
      const bool is_upper = character.code >= 'A' && character.code <= 'Z';
      lower.push_back(static_cast<char>(is_upper ? character.code - 'A' + 'a' : character.code));
    } else if (character.code < 0) {
      lower.push_back(text[0]);
    } else {
      utf8proc_uint8_t bytes[4];
      const utf8proc_ssize_t size = utf8proc_encode_char(utf8proc_tolower(character.code), bytes);
      lower.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    text.remove_prefix(character.size);
  }
  return lower;
}

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  std::vector<absl::string_view> words;
  size_t begin = 0, end = 0;
  while (end < text.size()) {
    const Character character = First(text.substr(end));
    if (IsSpace(character.code)) {
      if (end > begin) words.push_back(text.substr(begin, end - begin));
      begin = end + character.size;
    }
    end += character.size;
  }
  if (end > begin) words.push_back(text.substr(begin));
  return words;
}

}  // namespace reprise::data
