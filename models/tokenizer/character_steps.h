#ifndef MODELS_TOKENIZER_CHARACTER_STEPS_H_
#define MODELS_TOKENIZER_CHARACTER_STEPS_H_

// Steps of normalization that look at one character at a time, as Hugging Face's tokenizers do them: each library there
// has the tables of its own version of Unicode, and so have these.

#include <string>

#include "absl/strings/string_view.h"

namespace reprise::models {

enum class CharacterStep {
  kStripAccents,         // without marks, by Unicode 9 ("StripAccents")
  kStripNonspacing,      // without nonspacing marks, by Unicode 8 ("strip_accents" of BertNormalizer, after NFD)
  kCleanText,            // without control characters, and each white space one space ("clean_text" of BertNormalizer)
  kSpaceIdeographs,      // a space on both sides of each ideograph ("handle_chinese_chars" of BertNormalizer)
  kCleanForTranslation,  // without control characters, and white space and invisible characters one space each ("Nmt")
};

// Returns `text` after the step. Precondition: valid UTF-8.
std::string ApplyStep(CharacterStep step, absl::string_view text);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_CHARACTER_STEPS_H_
