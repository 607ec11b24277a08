#include "core/json/tolerated.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace reprise::internal {
namespace {

constexpr size_t kShownBytes = 24;
constexpr size_t kEscapeBytes = 6;  // of \uXXXX

// Returns the end of the string that begins with the quotation mark at `begin`.
size_t EndOfString(absl::string_view text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Removes the digits at the beginning; returns how many.
size_t ConsumeDigits(absl::string_view* text) {
  const size_t digits = static_cast<size_t>(std::find_if_not(text->begin(), text->end(), IsDigit) - text->begin());
  text->remove_prefix(digits);
  return digits;
}

// Returns whether the token is a number in the grammar of RFC 8259, section 6, and sets whether it is an integer.
bool IsNumber(absl::string_view token, bool* is_integer) {
  absl::ConsumePrefix(&token, "-");
  const bool begins_with_zero = absl::StartsWith(token, "0");
  const size_t digits = ConsumeDigits(&token);
  if (digits == 0 || (begins_with_zero && digits > 1)) return false;
  *is_integer = token.empty();
  if (absl::ConsumePrefix(&token, ".") && ConsumeDigits(&token) == 0) return false;
  if (!absl::ConsumePrefix(&token, "e") && !absl::ConsumePrefix(&token, "E")) return token.empty();
  if (!absl::ConsumePrefix(&token, "+")) absl::ConsumePrefix(&token, "-");
  return ConsumeDigits(&token) > 0 && token.empty();
}

bool FitsInto64Bits(absl::string_view integer) {
  int64_t with_sign = 0;
  uint64_t without_sign = 0;
  return absl::SimpleAtoi(integer, &with_sign) || absl::SimpleAtoi(integer, &without_sign);
}

std::string Shown(absl::string_view token) {
  if (token.size() <= kShownBytes) return std::string(token);
  return absl::StrCat(token.substr(0, kShownBytes), "... (", token.size(), " characters)");
}

// Returns the code unit of the escape \uXXXX at `at`; nullopt if there is none.
std::optional<uint32_t> UnitAt(absl::string_view token, size_t at) {
  uint32_t unit = 0;
  if (at + kEscapeBytes > token.size() || token.substr(at, 2) != "\\u") return std::nullopt;
  if (!absl::SimpleHexAtoi(token.substr(at + 2, 4), &unit)) return std::nullopt;
  return unit;
}

// Returns the offsets of the escapes in a string that are half a surrogate pair.
std::vector<size_t> LoneSurrogates(absl::string_view token) {
  std::vector<size_t> found;
  for (size_t at = 0; (at = token.find('\\', at)) != absl::string_view::npos;) {
    const std::optional<uint32_t> unit = UnitAt(token, at);
    if (!unit || *unit < 0xd800 || *unit > 0xdfff) {
      at += 2;
      continue;
    }
    const std::optional<uint32_t> next = UnitAt(token, at + kEscapeBytes);
    const bool is_pair = *unit < 0xdc00 && next && *next >= 0xdc00 && *next <= 0xdfff;
    if (!is_pair) found.push_back(at);
    at += is_pair ? 2 * kEscapeBytes : kEscapeBytes;
  }
  return found;
}

// Returns the token with `replacement` written over the first bytes at each of the offsets.
std::string WithReplaced(absl::string_view token, const std::vector<size_t>& offsets, absl::string_view replacement,
                         size_t replaced_bytes) {
  std::string result;
  size_t written = 0;
  for (const size_t offset : offsets) {
    absl::StrAppend(&result, token.substr(written, offset - written), replacement);
    written = offset + replaced_bytes;
  }
  absl::StrAppend(&result, token.substr(written));
  return result;
}

class Writer {
 public:
  explicit Writer(absl::string_view text) : source_(text) {}

  Tolerated Write() {
    for (size_t at = 0; at < source_.size();) at = WriteToken(at);
    return std::move(result_);
  }

 private:
  // Writes the token at `at` and returns its end.
  size_t WriteToken(size_t at) {
    const char c = source_[at];
    if (c == '"') return WriteString(at);
    if (IsDigit(c) || (c == '-' && !absl::StartsWith(source_.substr(at), "-I"))) return WriteNumber(at);
    if (!absl::ascii_isalpha(static_cast<unsigned char>(c)) && c != '-') {
      result_.text.push_back(c);
      return at + 1;
    }
    const auto is_of_word = [](char other) { return absl::ascii_isalnum(static_cast<unsigned char>(other)); };
    const auto word_end = std::find_if_not(source_.begin() + at + 1, source_.end(), is_of_word);
    const size_t end = static_cast<size_t>(word_end - source_.begin());
    const absl::string_view word = source_.substr(at, end - at);
    if (word == "NaN" || word == "Infinity" || word == "-Infinity") {
      Unreadable({.reason = absl::StrCat(word, " is no number in JSON: write null or a finite number")}, end);
      return end;
    }
    if (word == "null") ++nulls_;
    absl::StrAppend(&result_.text, word);
    return end;
  }

  size_t WriteNumber(size_t at) {
    const size_t end = std::min(source_.find_first_not_of("0123456789+-.eE", at), source_.size());
    const absl::string_view token = source_.substr(at, end - at);
    bool is_integer = false;
    double value = 0;
    const bool is_number = IsNumber(token, &is_integer) && absl::SimpleAtod(token, &value);
    if (is_number && std::isinf(value)) {
      Unreadable(
          {.is_number = true,
           .reason = absl::StrCat("the number ", Shown(token), " is beyond the range of a double, which is +-1.8e308")},
          end);
      return end;
    }
    absl::StrAppend(&result_.text, token);
    // simdjson refuses such an integer, but rounds a number with a fraction to the nearest double.
    if (is_number && is_integer && !FitsInto64Bits(token)) {
      absl::StrAppend(&result_.text, ".0");
      Moved(end);
    }
    return end;
  }

  size_t WriteString(size_t at) {
    const size_t end = EndOfString(source_, at);
    const absl::string_view token = source_.substr(at, end - at);
    const std::vector<size_t> lone = LoneSurrogates(token);
    const size_t after = source_.find_first_not_of(" \t\r\n", end);
    const bool is_name = after != absl::string_view::npos && source_[after] == ':';
    if (lone.empty() || !nlohmann::json::accept(WithReplaced(token, lone, "\\ufffd", kEscapeBytes))) {
      absl::StrAppend(&result_.text, token);
    } else if (is_name) {
      absl::StrAppend(&result_.text, WithReplaced(token, lone, "\\", 0));
      Moved(end);
    } else {
      Unreadable({.is_string = true,
                  .reason = absl::StrCat("the text has ", token.substr(lone[0], kEscapeBytes),
                                         ", which is half of a surrogate pair and no character: remove it or replace "
                                         "it by \\ufffd")},
                 end);
    }
    return end;
  }

  void Unreadable(UnreadableValue value, size_t source_end) {
    result_.values.emplace_back(nulls_++, std::move(value));
    absl::StrAppend(&result_.text, "null");
    Moved(source_end);
  }
  void Moved(size_t source_offset) { result_.moved.emplace_back(result_.text.size(), source_offset); }

  const absl::string_view source_;
  Tolerated result_;
  int64_t nulls_ = 0;
};

}  // namespace

size_t Tolerated::SourceOffset(size_t offset) const {
  const auto after = std::upper_bound(moved.begin(), moved.end(), offset,
                                      [](size_t at, const auto& place) { return at < place.first; });
  if (after == moved.begin()) return offset;
  return std::prev(after)->second + (offset - std::prev(after)->first);
}

Tolerated Tolerate(absl::string_view text) { return Writer(text).Write(); }

}  // namespace reprise::internal
