#include "models/tokenizer/oniguruma/pattern_size.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"

namespace reprise::models {
namespace {

// A part of the pattern between parentheses, or all of it.
struct Group {
  double before = 0;  // the last item
  double last = 0;    // the item that a repeat would repeat

  void Add(double size) {
    before += last;
    last = size;
  }
};

// Returns the end of an escape that begins at `at`, such as "\p{L}".
size_t EndOfEscape(absl::string_view pattern, size_t at) {
  const size_t end = std::min(at + 2, pattern.size());
  if (end == pattern.size() || pattern[end] != '{') return end;
  const bool has_braces = absl::string_view("pPxo").find(pattern[end - 1]) != absl::string_view::npos;
  const size_t close = has_braces ? pattern.find('}', end) : absl::string_view::npos;
  return close == absl::string_view::npos ? end : close + 1;
}

// Returns the end of a class that begins at `at`; classes may be within it.
size_t EndOfClass(absl::string_view pattern, size_t at) {
  int depth = 0;
  while (at < pattern.size()) {
    if (pattern[at] == '\\') {
      at = EndOfEscape(pattern, at);
      continue;
    }
    if (pattern[at] == '[') {
      ++depth;
      if (at + 1 < pattern.size() && pattern[at + 1] == '^') ++at;
      if (at + 1 < pattern.size() && pattern[at + 1] == ']') ++at;  // it is a member of the class
    } else if (pattern[at] == ']') {
      --depth;
    }
    ++at;
    if (depth == 0) break;
  }
  return at;
}

struct Repeat {
  double count = 0;  // the larger bound
  size_t end = 0;
};

// Reads "{2}", "{2,}", "{,3}" or "{2,3}" at `at`; nullopt where the brace is a character.
std::optional<Repeat> ReadRepeat(absl::string_view pattern, size_t at) {
  Repeat repeat;
  double number = 0;
  bool has_digits = false;
  int commas = 0;
  for (++at; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (absl::ascii_isdigit(c)) {
      has_digits = true;
      number = std::min(10 * number + (c - '0'), 1e9);
    } else if (c == ',' && ++commas == 1) {
      repeat.count = number;
      number = 0;
    } else if (c == '}' && has_digits) {
      repeat.count = std::max(repeat.count, number);
      repeat.end = at + 1;
      return repeat;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

double WrittenOutSize(absl::string_view pattern) {
  std::vector<Group> groups(1);
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '\\') {
      groups.back().Add(1);
      at = EndOfEscape(pattern, at);
    } else if (c == '[') {
      groups.back().Add(1);
      at = EndOfClass(pattern, at);
    } else if (c == '(') {
      groups.emplace_back();
      ++at;
    } else if (c == ')' && groups.size() > 1) {
      const double size = groups.back().before + groups.back().last;
      groups.pop_back();
      groups.back().Add(size);
      ++at;
    } else if (const std::optional<Repeat> repeat = c == '{' ? ReadRepeat(pattern, at) : std::nullopt) {
      groups.back().last *= std::max(1.0, repeat->count);
      at = repeat->end;
    } else {
      const bool is_item = absl::string_view("+*?|").find(c) == absl::string_view::npos;
      const bool is_continuation = (static_cast<uint8_t>(c) & 0xc0) == 0x80;
      if (is_item && !is_continuation) groups.back().Add(1);
      ++at;
    }
  }
  double size = 0;
  for (const Group& group : groups) size += group.before + group.last;
  return size;
}

}  // namespace reprise::models
