#ifndef CORE_IO_BYTE_ORDER_MARK_H_
#define CORE_IO_BYTE_ORDER_MARK_H_

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace reprise {

// What some editors write before a text in UTF-8; it is no part of the text.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns `text` without the mark at its beginning, if there is one.
inline absl::string_view WithoutByteOrderMark(absl::string_view text) {
  return absl::StripPrefix(text, kByteOrderMark);
}

}  // namespace reprise

#endif  // CORE_IO_BYTE_ORDER_MARK_H_
