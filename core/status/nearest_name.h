#ifndef CORE_STATUS_NEAREST_NAME_H_
#define CORE_STATUS_NEAREST_NAME_H_

// Misspelt names: what the user probably meant, and the error that says so.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise {

// The entry of `known` with the smallest edit distance (insertions, deletions, substitutions, swaps of neighbours) to
// `name`, the first among equals; empty when none is within max(2, a third of the name's length).
absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> known);

// InvalidArgument: `unknown <what> "<name>"; did you mean "<nearest>"? Known are: a, b, c`, without the question when
// nothing is near.
absl::Status UnknownName(absl::string_view what, absl::string_view name, absl::Span<const absl::string_view> known);

}  // namespace reprise

#endif  // CORE_STATUS_NEAREST_NAME_H_
