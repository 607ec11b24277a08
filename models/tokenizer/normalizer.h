#ifndef MODELS_TOKENIZER_NORMALIZER_H_
#define MODELS_TOKENIZER_NORMALIZER_H_

// Changes a text before it is divided into words. The steps are those of Hugging Face's tokenizers.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/character_steps.h"
#include "models/tokenizer/oniguruma/pattern.h"

namespace reprise::models {

// The normalization forms of Unicode Standard Annex 15.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

// Unicode's lower case of each character by itself.
struct Lowercase {};

// Replaces each match.
struct Replacement {
  Pattern pattern;
  std::string content;
};

// Puts `text` before a text that is not empty.
struct Prefix {
  std::string text;
};

// Removes the white space at the beginning, at the end, or both.
struct Strip {
  bool left = false, right = false;
};

// Each byte becomes the character that stands for it.
struct SpellBytes {};

using Normalizer =
    std::vector<std::variant<UnicodeForm, Lowercase, CharacterStep, Replacement, Prefix, Strip, SpellBytes>>;

// Returns `text` after all steps. Errors and `steps_left` are those of Pattern::FindAll. Precondition: valid UTF-8.
absl::StatusOr<std::string> Normalize(const Normalizer& normalizer, absl::string_view text, int64_t* steps_left);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_NORMALIZER_H_
