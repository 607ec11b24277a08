#include "models/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/characters.h"

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

enum class CharacterKind { kSpace, kWord, kOther };

CharacterKind KindOfFirst(absl::string_view text) {
  if (IsSpace(FirstCharacter(text).code)) return CharacterKind::kSpace;
  return BeginsWithWordCharacter(text) ? CharacterKind::kWord : CharacterKind::kOther;
}

// One operator for each kind of step: returns the pieces after it.
struct Apply {
  std::vector<std::string>& pieces;
  bool is_first;
  int64_t* steps_left;

  absl::StatusOr<std::vector<std::string>> operator()(const SplitStep& step) const {
    return Split(step, pieces, steps_left);
  }

  absl::StatusOr<std::vector<std::string>> operator()(const ByteLevelStep& step) const {
    if (step.add_prefix_space) {
      for (std::string& piece : pieces) {
        if (!absl::StartsWith(piece, " ")) piece = absl::StrCat(" ", piece);
      }
    }
    std::vector<std::string> words;
    if (step.words) {
      ASSIGN_OR_RETURN(words, Split(*step.words, pieces, steps_left));
    } else {
      words = std::move(pieces);
    }
    for (std::string& word : words) word = BytesToText(word);
    return words;
  }

  absl::StatusOr<std::vector<std::string>> operator()(WordRunsStep) const {
    std::vector<std::string> words;
    for (const std::string& piece : pieces) {
      CharacterKind previous = CharacterKind::kSpace;
      for (absl::string_view rest = piece; !rest.empty();) {
        const CharacterKind kind = KindOfFirst(rest);
        const size_t size = FirstCharacter(rest).size;
        if (kind != CharacterKind::kSpace) {
          if (kind != previous) words.emplace_back();
          absl::StrAppend(&words.back(), rest.substr(0, size));
        }
        previous = kind;
        rest.remove_prefix(size);
      }
    }
    return words;
  }

  absl::StatusOr<std::vector<std::string>> operator()(const FixedLengthStep& step) const {
    std::vector<std::string> words;
    for (const std::string& piece : pieces) {
      size_t characters = 0;
      for (absl::string_view rest = piece; !rest.empty(); ++characters) {
        const size_t size = FirstCharacter(rest).size;
        if (characters % step.characters == 0) words.emplace_back();
        absl::StrAppend(&words.back(), rest.substr(0, size));
        rest.remove_prefix(size);
      }
    }
    return words;
  }

  absl::StatusOr<std::vector<std::string>> operator()(const MetaspaceStep& step) const {
    bool is_beginning = is_first;
    for (std::string& piece : pieces) {
      absl::StrReplaceAll({{" ", step.replacement}}, &piece);
      const bool prepends = step.prepend == MetaspaceStep::Prepend::kAlways ||
                            (step.prepend == MetaspaceStep::Prepend::kFirst && is_beginning);
      if (prepends && !absl::StartsWith(piece, step.replacement)) piece = absl::StrCat(step.replacement, piece);
      is_beginning = false;
    }
    if (!step.words) return std::move(pieces);
    return Split(*step.words, pieces, steps_left);
  }
};

}  // namespace

absl::StatusOr<std::vector<std::string>> PreTokenize(const PreTokenizer& pre_tokenizer, absl::string_view text,
                                                     bool is_first, int64_t* steps_left) {
  std::vector<std::string> pieces;
  if (!text.empty()) pieces.emplace_back(text);
  for (const auto& step : pre_tokenizer.steps) {
    ASSIGN_OR_RETURN(pieces, std::visit(Apply{pieces, is_first, steps_left}, step));
  }
  return pieces;
}

}  // namespace reprise::models
