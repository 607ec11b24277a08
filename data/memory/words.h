#ifndef DATA_MEMORY_WORDS_H_
#define DATA_MEMORY_WORDS_H_

// How memories are compared: by lower-case words between white space. Punctuation belongs to the word that it touches.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::data {

// Returns `text`, which is UTF-8, with every character replaced by its simple lower-case mapping, which is one
// character (utf8proc's version of Unicode). Bytes that are not UTF-8 are kept. Pure.
std::string LowerCase(absl::string_view text);

// Returns the parts of `text` between white space (Unicode's, and the separators U+001C to U+001F), in order; none is
// empty. Valid while the text is. Pure.
std::vector<absl::string_view> WordsOf(absl::string_view text);

}  // namespace reprise::data

#endif  // DATA_MEMORY_WORDS_H_
