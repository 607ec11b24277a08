#ifndef MODELS_TOKENIZER_PRE_TOKENIZER_H_
#define MODELS_TOKENIZER_PRE_TOKENIZER_H_

// Divides text into words; no token crosses the border of a word. The steps are those of Hugging Face's tokenizers:
// splits, and ByteLevel, after which steps see the characters that stand for the text's bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/oniguruma/pattern.h"

namespace reprise::models {

// What becomes of the parts of a text that match ("delimiters"), and of the parts between them.
enum class SplitBehavior {
  kRemoved,             // delimiters are dropped
  kIsolated,            // each part is a word
  kMergedWithPrevious,  // a delimiter ends the part before it, unless that is a delimiter
  kMergedWithNext,      // a delimiter begins the part after it, unless that is a delimiter
  kContiguous,          // delimiters that follow each other are one word
};

struct SplitStep {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // the delimiters are the parts between the matches
};

struct ByteLevelStep {
  bool add_prefix_space = false;     // to each piece that does not begin with a space
  std::optional<SplitStep> words{};  // applied after that
};

// Words are runs of word characters, and runs of other characters that are no white space.
struct WordRunsStep {};

struct FixedLengthStep {
  size_t characters = 0;  // of each word; the last may be shorter
};

// As SentencePiece does: `replacement` instead of each space.
struct MetaspaceStep {
  enum class Prepend { kNever, kFirst, kAlways };

  std::string replacement;
  Prepend prepend = Prepend::kAlways;  // to each piece that does not begin with it, or to that at the text's beginning
  std::optional<SplitStep> words{};    // applied after that
};

struct PreTokenizer {
  std::vector<std::variant<SplitStep, ByteLevelStep, WordRunsStep, FixedLengthStep, MetaspaceStep>> steps;
};

// The pattern of GPT-2: contractions, letters, numbers, other characters, each with one space before it; then spaces.
inline constexpr absl::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Returns the words of `text` in order, none empty; after a ByteLevelStep in the characters that stand for bytes.
// `is_first`: the text is the beginning of what is encoded. Steps and errors are those of Pattern::FindAll.
// Precondition: valid UTF-8.
absl::StatusOr<std::vector<std::string>> PreTokenize(const PreTokenizer& pre_tokenizer, absl::string_view text,
                                                     bool is_first, int64_t* steps_left);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_PRE_TOKENIZER_H_
