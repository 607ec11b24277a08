#ifndef CORE_STATUS_PRINTABLE_H_
#define CORE_STATUS_PRINTABLE_H_

// Text that somebody else wrote (a file, another program) as a message may show it: a terminal must not obey it.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// `text` without what is not printable UTF-8: line feeds, tabs and carriage returns become \n, \t and \r; each byte of
// other control characters (U+0080 to U+009F among them, which terminals obey as they do ESC), of characters that only
// direct or hide others (U+202E), of line separators and of what is no UTF-8 becomes \x and two digits. Pure.
std::string Printable(absl::string_view text);

// The same of text that has lines: their line feeds stay. What a program says to people passes through it once, where
// it is printed.
std::string PrintableLines(absl::string_view text);

// The same in quotation marks, with \" and \\ for those within; of more than `most` bytes the beginning, and "...".
std::string Quoted(absl::string_view text, size_t most = 200);

}  // namespace reprise

#endif  // CORE_STATUS_PRINTABLE_H_
