#include "models/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"

namespace reprise::models {
namespace {

struct Part {
  ByteRange range;
  bool is_delimiter;
};

// Returns the matches and the parts between them, in order. Matches may be empty; the parts between them are not.
std::vector<Part> Divide(size_t text_size, const std::vector<ByteRange>& matches, bool invert) {
  std::vector<Part> parts;
  size_t end_of_last = 0;
  for (const ByteRange& match : matches) {
    if (end_of_last < match.begin) parts.push_back({{end_of_last, match.begin}, invert});
    parts.push_back({match, !invert});
    end_of_last = match.end;
  }
  if (end_of_last < text_size) parts.push_back({{end_of_last, text_size}, invert});
  return parts;
}

// Joins each part to the group before it where `joins`(this part, the part before it) says so. The first part has none
// before it: it is compared with a part that is no delimiter, and begins a group whatever the answer.
template <typename Joins>
std::vector<ByteRange> Join(const std::vector<Part>& parts, Joins joins) {
  std::vector<ByteRange> groups;
  bool previous = false;
  for (const Part& part : parts) {
    if (joins(part.is_delimiter, previous) && !groups.empty()) {
      groups.back() = {std::min(groups.back().begin, part.range.begin), std::max(groups.back().end, part.range.end)};
    } else {
      groups.push_back(part.range);
    }
    previous = part.is_delimiter;
  }
  return groups;
}

std::vector<ByteRange> Words(std::vector<Part> parts, SplitBehavior behavior) {
  const auto is_first_delimiter = [](bool is_delimiter, bool previous) { return is_delimiter && !previous; };
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.is_delimiter; });
      return Join(parts, [](bool, bool) { return false; });
    case SplitBehavior::kIsolated:
      return Join(parts, [](bool, bool) { return false; });
    case SplitBehavior::kContiguous:
      return Join(parts, [](bool is_delimiter, bool previous) { return is_delimiter == previous; });
    case SplitBehavior::kMergedWithPrevious:
      return Join(parts, is_first_delimiter);
    case SplitBehavior::kMergedWithNext: {
      std::reverse(parts.begin(), parts.end());
      std::vector<ByteRange> words = Join(parts, is_first_delimiter);
      std::reverse(words.begin(), words.end());
      return words;
    }
  }
  CHECK(false);
}

absl::StatusOr<std::vector<std::string>> Split(const SplitStep& step, const std::vector<std::string>& pieces,
                                               int64_t* steps_left) {
  std::vector<std::string> words;
  for (const std::string& piece : pieces) {
    ASSIGN_OR_RETURN(const std::vector<ByteRange> matches, step.pattern.FindAll(piece, steps_left));
    for (const auto& [begin, end] : Words(Divide(piece.size(), matches, step.invert), step.behavior)) {
      if (begin < end) words.push_back(piece.substr(begin, end - begin));
    }
  }
  return words;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PreTokenize(const PreTokenizer& pre_tokenizer, absl::string_view text,
                                                     int64_t* steps_left) {
  std::vector<std::string> pieces;
  if (!text.empty()) pieces.emplace_back(text);
  bool are_spelled = false;  // in the byte alphabet
  for (const auto& step : pre_tokenizer.steps) {
    if (const auto* const split = std::get_if<SplitStep>(&step)) {
      ASSIGN_OR_RETURN(pieces, Split(*split, pieces, steps_left));
      continue;
    }
    const auto& byte_level = std::get<ByteLevelStep>(step);
    if (byte_level.add_prefix_space) {
      for (std::string& piece : pieces) {
        if (!absl::StartsWith(piece, " ")) piece = absl::StrCat(" ", piece);
      }
    }
    if (byte_level.words) {
      ASSIGN_OR_RETURN(pieces, Split(*byte_level.words, pieces, steps_left));
    }
    if (&step == &pre_tokenizer.steps.back()) break;
    CHECK(!are_spelled);
    are_spelled = true;
    for (std::string& piece : pieces) piece = BytesToText(piece);
  }
  if (!are_spelled) return pieces;
  for (std::string& piece : pieces) piece = TextToBytes(piece).value();
  return pieces;
}

}  // namespace reprise::models
