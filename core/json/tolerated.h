#ifndef CORE_JSON_TOLERATED_H_
#define CORE_JSON_TOLERATED_H_

// JSON as programs write it: Python's NaN, Infinity and -Infinity, numbers beyond the range of a double, integers
// beyond 64 bits, and halves of surrogate pairs (which JavaScript's and Python's strings may have). simdjson refuses a
// whole document for one of them; here they become values that it reads, so that an unread member does no harm.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::internal {

// A value that cannot be read, in whose place the parser finds a null.
struct UnreadableValue {
  bool is_string = false, is_number = false;  // neither for NaN and the infinities, which are no JSON
  std::string reason;                         // a clause such as "NaN is no number in JSON: ..."
};

struct Tolerated {
  std::string text;  // in which such numbers, words and strings are null, and long integers have a fraction of 0
  std::vector<std::pair<int64_t, UnreadableValue>> values;  // by the number of nulls before it in `text`; sorted
  std::vector<std::pair<size_t, size_t>> moved;  // offsets in `text` from which on the source's are those beside them

  // Returns the source's offset of a byte of `text`.
  size_t SourceOffset(size_t offset) const;
};

// Pure; linear in the text, which need not be JSON: what is wrong with it remains wrong. In the name of a member, half
// a surrogate pair becomes the six characters of its escape.
Tolerated Tolerate(absl::string_view text);

}  // namespace reprise::internal

#endif  // CORE_JSON_TOLERATED_H_
