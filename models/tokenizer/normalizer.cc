#include "models/tokenizer/normalizer.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/characters.h"
#include "utf8proc.h"

namespace reprise::models {
namespace {

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

utf8proc_option_t Options(UnicodeForm form) {
  int options = UTF8PROC_STABLE;
  options |= form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

// What all matches of a Replace may become.
constexpr int kMaxGrownBytes = 1 << 30;

// The characters to which Unicode gave a place in the order of marks, or a decomposition, after version 9. Hugging
// Face's tokenizers normalize by the tables of version 9: they leave these alone, and nothing moves across them.
constexpr std::pair<int32_t, int32_t> kNewer[] = {
    {0x7fd, 0x7fd},     {0x898, 0x89f},     {0x8ca, 0x8d3},     {0x9fe, 0x9fe},     {0xc3c, 0xc3c},
    {0xd3b, 0xd3c},     {0xeba, 0xeba},     {0x1715, 0x1715},   {0x1abf, 0x1ace},   {0x1df6, 0x1dfa},
    {0x32ff, 0x32ff},   {0xa7f2, 0xa7f4},   {0xa82c, 0xa82c},   {0xab69, 0xab69},   {0x10781, 0x10785},
    {0x10787, 0x107b0}, {0x107b2, 0x107ba}, {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10efd, 0x10eff},
    {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x1145e, 0x1145e},
    {0x11839, 0x1183a}, {0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938}, {0x1193d, 0x1193e},
    {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99},
    {0x11d42, 0x11d42}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x16ff0, 0x16ff1},
    {0x1e030, 0x1e06d}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
    {0x1e4ec, 0x1e4ef}, {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9},
};

bool IsNewer(int32_t code) {
  const auto* const range = std::lower_bound(std::begin(kNewer), std::end(kNewer), code,
                                             [](const auto& range, int32_t code) { return range.second < code; });
  return range != std::end(kNewer) && range->first <= code;
}

std::string ToForm(absl::string_view text, UnicodeForm form) {
  if (IsAscii(text)) return std::string(text);
  utf8proc_uint8_t* normalized = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &normalized, Options(form));
  CHECK_GE(size, 0);  // negative for invalid UTF-8 and when out of memory
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(normalized, &std::free);
  return std::string(reinterpret_cast<const char*>(normalized), static_cast<size_t>(size));
}

// One operator for each kind of step.
struct Apply {
  absl::string_view text;
  int64_t* steps_left;

  absl::StatusOr<std::string> operator()(UnicodeForm form) const {
    std::string result;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const Character character = FirstCharacter(text.substr(at));
      if (IsNewer(character.code)) {
        absl::StrAppend(&result, ToForm(text.substr(begin, at - begin), form), text.substr(at, character.size));
        begin = at + character.size;
      }
      at += character.size;
    }
    return absl::StrCat(result, ToForm(text.substr(begin), form));
  }

  absl::StatusOr<std::string> operator()(Lowercase) const { return ToLowercase(text); }

  absl::StatusOr<std::string> operator()(CharacterStep step) const { return ApplyStep(step, text); }

  absl::StatusOr<std::string> operator()(SpellBytes) const { return BytesToText(text); }

  absl::StatusOr<std::string> operator()(const Replacement& replacement) const {
    ASSIGN_OR_RETURN(const std::vector<ByteRange> matches, replacement.pattern.FindAll(text, steps_left));
    const double grown = static_cast<double>(matches.size()) * static_cast<double>(replacement.content.size());
    if (grown > kMaxGrownBytes) {
      return absl::InvalidArgumentError(absl::StrCat("the tokenizer's normalizer makes more than ", kMaxGrownBytes,
                                                     " bytes of a text; use a shorter text, or replace by less"));
    }
    std::string result;
    size_t end_of_last = 0;
    for (const ByteRange& match : matches) {
      absl::StrAppend(&result, text.substr(end_of_last, match.begin - end_of_last), replacement.content);
      end_of_last = match.end;
    }
    absl::StrAppend(&result, text.substr(end_of_last));
    return result;
  }

  absl::StatusOr<std::string> operator()(const Prefix& prefix) const {
    return text.empty() ? std::string() : absl::StrCat(prefix.text, text);
  }

  absl::StatusOr<std::string> operator()(const Strip& strip) const {
    absl::string_view rest = text;
    if (strip.left) rest.remove_prefix(LeadingSpace(rest));
    if (strip.right) rest.remove_suffix(TrailingSpace(rest));
    return std::string(rest);
  }
};

}  // namespace

absl::StatusOr<std::string> Normalize(const Normalizer& normalizer, absl::string_view text, int64_t* steps_left) {
  std::string result(text);
  for (const auto& step : normalizer) {
    ASSIGN_OR_RETURN(result, std::visit(Apply{result, steps_left}, step));
  }
  return result;
}

}  // namespace reprise::models
