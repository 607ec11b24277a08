#ifndef MODELS_TOKENIZER_ONIGURUMA_PATTERN_SIZE_H_
#define MODELS_TOKENIZER_ONIGURUMA_PATTERN_SIZE_H_

#include "absl/strings/string_view.h"

namespace reprise::models {

// Returns about how many characters and classes a regular expression in Oniguruma's syntax has when its counted repeats
// are written out: 6 for "a(b[cd]){2}\w", 100000 for "a{100000}". A search may take that many steps at each place
// without a step back.
double WrittenOutSize(absl::string_view pattern);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ONIGURUMA_PATTERN_SIZE_H_
