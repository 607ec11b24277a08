#include "models/tokenizer/characters.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "utf8proc.h"

namespace reprise::models {
namespace {

Character Last(absl::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
  return FirstCharacter(text.substr(begin));
}

bool IsSpace(int32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

// Returns whether Unicode counts the symbol as alphabetic: letters in circles and squares.
bool IsEnclosedLetter(int32_t code) {
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

bool IsWordCharacter(int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return code == 0x200c || code == 0x200d || IsEnclosedLetter(code);
  }
}

struct Sequence {
  size_t length;  // of the valid character, or of the maximal part of an invalid one; >= 1
  bool is_valid;
};

// The number of bytes of a character that begins with `lead` (0: no character begins with it), and the range of its
// second byte; further bytes are 0x80 to 0xBF.
struct Lead {
  size_t length;
  uint8_t low, high;
};

Lead Classify(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xc2) return {0, 0, 0};
  if (lead < 0xe0) return {2, 0x80, 0xbf};
  if (lead < 0xf0)
    return {3, static_cast<uint8_t>(lead == 0xe0 ? 0xa0 : 0x80), static_cast<uint8_t>(lead == 0xed ? 0x9f : 0xbf)};
  if (lead < 0xf5)
    return {4, static_cast<uint8_t>(lead == 0xf0 ? 0x90 : 0x80), static_cast<uint8_t>(lead == 0xf4 ? 0x8f : 0xbf)};
  return {0, 0, 0};
}

// Precondition: bytes is not empty.
Sequence FirstSequence(absl::string_view bytes) {
  const Lead lead = Classify(static_cast<uint8_t>(bytes[0]));
  if (lead.length == 0) return {1, false};
  for (size_t i = 1; i < lead.length; ++i) {
    const uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (i == bytes.size() || static_cast<uint8_t>(bytes[i]) < low || static_cast<uint8_t>(bytes[i]) > high) {
      return {i, false};
    }
  }
  return {lead.length, true};
}

}  // namespace

Character FirstCharacter(absl::string_view text) {
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &code);
  return {code, size < 1 ? 1 : static_cast<size_t>(size)};
}

bool BeginsWithWordCharacter(absl::string_view text) {
  return !text.empty() && IsWordCharacter(FirstCharacter(text).code);
}
bool EndsWithWordCharacter(absl::string_view text) { return !text.empty() && IsWordCharacter(Last(text).code); }

size_t LeadingSpace(absl::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const Character next = FirstCharacter(text.substr(size));
    if (!IsSpace(next.code)) break;
    size += next.size;
  }
  return size;
}

size_t TrailingSpace(absl::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const Character last = Last(text.substr(0, text.size() - size));
    if (!IsSpace(last.code)) break;
    size += last.size;
  }
  return size;
}

std::string ToLowercase(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character next = FirstCharacter(text);
    text.remove_prefix(next.size);
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t size = utf8proc_encode_char(utf8proc_tolower(next.code), bytes);
    result.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    if (next.code == 0x130) result += "\u0307";  // the only character whose lower case has two
  }
  return result;
}

size_t ValidUtf8Prefix(absl::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Sequence sequence = FirstSequence(bytes.substr(at));
    if (!sequence.is_valid) break;
    at += sequence.length;
  }
  return at;
}

std::string ToValidUtf8(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t valid = ValidUtf8Prefix(bytes);
    absl::StrAppend(&text, bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    absl::StrAppend(&text, "\xef\xbf\xbd");
    bytes.remove_prefix(FirstSequence(bytes).length);
  }
  return text;
}

}  // namespace reprise::models
