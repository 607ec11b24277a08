#ifndef MODELS_FILES_FILES_H_
#define MODELS_FILES_FILES_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::models {

// Writes `pieces`, one after the other, to `path`: to a temporary file beside it, synced, then renamed, so that `path`
// is at every moment absent, the old file or the new one. Replaces an existing file. File errors name the path; the
// temporary file is removed on failure.
absl::Status WriteFileAtomically(const std::string& path, absl::Span<const absl::string_view> pieces);

// The bytes of a regular file. NotFound and other file errors; InvalidArgument when it is larger than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

}  // namespace reprise::models

#endif  // MODELS_FILES_FILES_H_
