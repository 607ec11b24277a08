#ifndef MODELS_TOKENIZER_PATTERN_H_
#define MODELS_TOKENIZER_PATTERN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct pcre2_real_code_8;  // PCRE2's compiled pattern

namespace reprise::models {

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0, end = 0;

  bool operator==(const ByteRange&) const = default;
};

enum class PatternSyntax { kRegex, kLiteral };

// A regular expression over Unicode text, whose \s is Unicode's White_Space. Copyable; thread-safe.
class Pattern {
 public:
  // InvalidArgument for a malformed pattern; Unimplemented for one that matches the empty text.
  static absl::StatusOr<Pattern> Compile(absl::string_view pattern, PatternSyntax syntax = PatternSyntax::kRegex);

  // All matches from left to right; they do not overlap. InvalidArgument when the pattern backtracks so much on this
  // text that a bound on steps or memory is hit. Precondition: valid UTF-8.
  absl::StatusOr<std::vector<ByteRange>> FindAll(absl::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const pcre2_real_code_8> code) : code_(std::move(code)) {}

  std::shared_ptr<const pcre2_real_code_8> code_;
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_PATTERN_H_
