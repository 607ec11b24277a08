#ifndef MODELS_TOKENIZER_ONIGURUMA_PATTERN_H_
#define MODELS_TOKENIZER_ONIGURUMA_PATTERN_H_

// Regular expressions in the syntax of Oniguruma, the library of Hugging Face's tokenizers: the patterns of
// tokenizer.json are written for it, and other libraries read some of them as something else without a complaint
// ("[a-z&&[^x]]", "{,3}", "\h", "(?m:.)").

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct re_pattern_buffer;  // Oniguruma's compiled pattern

namespace reprise::models {

// The range [begin, end) of a text's bytes.
struct ByteRange {
  size_t begin = 0, end = 0;

  bool operator==(const ByteRange&) const = default;
};

// The steps that the patterns of one text may take together: each step back counts beyond the first few hundred at a
// place of the text, and every 16 steps over characters beyond the first 64 for each byte of it.
inline constexpr int64_t kStepsOfText = 10'000'000;

// The characters and classes that a pattern may have when its counted repeats are written out.
inline constexpr int kMaxPatternSize = 10'000;

enum class PatternSyntax { kRegex, kLiteral };

// A regular expression over Unicode text. Copyable; thread-safe.
class Pattern {
 public:
  // InvalidArgument for a malformed pattern; Unimplemented for one whose meaning depends on the version of Oniguruma,
  // and one larger than kMaxPatternSize.
  static absl::StatusOr<Pattern> Compile(absl::string_view pattern, PatternSyntax syntax = PatternSyntax::kRegex);

  // Returns the matches from left to right, as Hugging Face's tokenizers find them; they do not overlap. An empty match
  // counts, except one that follows a match. There are none in an empty text. Subtracts the steps that it takes from
  // *steps_left, which is kStepsOfText at the start of a text; the number is a function of pattern and text alone.
  // InvalidArgument if no steps are left, or a memory limit is reached. Precondition: valid UTF-8.
  absl::StatusOr<std::vector<ByteRange>> FindAll(absl::string_view text, int64_t* steps_left) const;

 private:
  Pattern(std::shared_ptr<re_pattern_buffer> code, absl::string_view text);

  std::shared_ptr<re_pattern_buffer> code_;
  std::shared_ptr<const std::string> text_;  // for messages
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ONIGURUMA_PATTERN_H_
