#ifndef CORE_STATUS_PRINTABLE_H_
#define CORE_STATUS_PRINTABLE_H_

// Escapes text from other sources (a file, an external process) for messages, so that it cannot control a terminal.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Returns `text` with everything escaped that is not printable UTF-8: line feeds, tabs and carriage returns become \n,
// \t and \r; each byte of other control characters (including U+0080 to U+009F, which terminals interpret as they do
// ESC), of characters that only direct or hide others (U+202E), of line separators and of invalid UTF-8 becomes \x and
// two digits. Pure.
std::string Printable(absl::string_view text);

// As Printable, but keeps line feeds, for texts of several lines: what they take from other sources passes through
// Printable first.
std::string PrintableLines(absl::string_view text);

// As Printable, in quotation marks, with \" and \\ for those within; longer than `most` bytes: truncated, with "...".
std::string Quoted(absl::string_view text, size_t most = 200);

}  // namespace reprise

#endif  // CORE_STATUS_PRINTABLE_H_
