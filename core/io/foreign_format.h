#ifndef CORE_IO_FOREIGN_FORMAT_H_
#define CORE_IO_FOREIGN_FORMAT_H_

// Names what stands where another file was expected: what version control, downloads and other programs leave under the
// expected name. For messages about files that could not be read.

#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Returns a sentence with a remedy, such as "this is a pointer of Git LFS, not the file itself: ...", or "" for bytes
// of no known format. `begin`: the first bytes of a file; a few hundred are enough.
std::string ForeignFormat(absl::string_view begin);

}  // namespace reprise

#endif  // CORE_IO_FOREIGN_FORMAT_H_
