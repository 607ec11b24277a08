#include "models/tokenizer/characters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "utf8proc.h"

namespace reprise::models {
namespace {

Character Last(absl::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
  return FirstCharacter(text.substr(begin));
}

// Returns whether Unicode counts the symbol as alphabetic: letters in circles and squares.
bool IsEnclosedLetter(int32_t code) {
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

// The word characters that Unicode 15.1 and 16 added: utf8proc 2.8 has the tables of Unicode 15.
constexpr std::pair<int32_t, int32_t> kNewerWordCharacters[] = {
    {0x897, 0x897},     {0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3},
    {0x10d40, 0x10d65}, {0x10d69, 0x10d6d}, {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x10efc, 0x10efc},
    {0x11380, 0x11389}, {0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113c0},
    {0x113c2, 0x113c2}, {0x113c5, 0x113c5}, {0x113c7, 0x113ca}, {0x113cc, 0x113d3}, {0x113e1, 0x113e2},
    {0x116d0, 0x116e3}, {0x11bc0, 0x11be0}, {0x11bf0, 0x11bf9}, {0x11f5a, 0x11f5a}, {0x13460, 0x143fa},
    {0x16100, 0x16139}, {0x16d40, 0x16d6c}, {0x16d70, 0x16d79}, {0x18cff, 0x18cff}, {0x1ccf0, 0x1ccf9},
    {0x1e5d0, 0x1e5fa}, {0x2ebf0, 0x2ee5d},
};

// Letters to which Unicode 16 and 17 gave a lower case, and its distance.
struct NewerCase {
  int32_t first, last, distance;
};
constexpr NewerCase kNewerCases[] = {
    {0x1c89, 0x1c89, 1},      {0xa7cb, 0xa7cb, 0x264 - 0xa7cb},
    {0xa7cc, 0xa7cc, 1},      {0xa7ce, 0xa7ce, 1},
    {0xa7d2, 0xa7d2, 1},      {0xa7d4, 0xa7d4, 1},
    {0xa7da, 0xa7da, 1},      {0xa7dc, 0xa7dc, 0x19b - 0xa7dc},
    {0x10d50, 0x10d65, 0x20}, {0x16ea0, 0x16eb8, 0x1b},
};

int32_t LowerCase(int32_t code) {
  const auto* const newer =
      std::find_if(std::begin(kNewerCases), std::end(kNewerCases),
                   [code](const NewerCase& range) { return range.first <= code && code <= range.last; });
  return newer == std::end(kNewerCases) ? utf8proc_tolower(code) : code + newer->distance;
}

bool IsNewerWordCharacter(int32_t code) {
  const auto* const range = std::lower_bound(std::begin(kNewerWordCharacters), std::end(kNewerWordCharacters), code,
                                             [](const auto& range, int32_t code) { return range.second < code; });
  return range != std::end(kNewerWordCharacters) && range->first <= code;
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
      return code == 0x200c || code == 0x200d || IsEnclosedLetter(code) || IsNewerWordCharacter(code);
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

bool IsSpace(int32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

void AppendCharacter(int32_t code, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(code, bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

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
    AppendCharacter(LowerCase(next.code), result);
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
