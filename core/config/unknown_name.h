#ifndef CORE_CONFIG_UNKNOWN_NAME_H_
#define CORE_CONFIG_UNKNOWN_NAME_H_

// Choices by name, and the error for an unknown one: of an algorithm, a loss, a task or a reward.

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise {

// InvalidArgument: `unknown <what> "<name>"; did you mean "<nearest>"? Known are: a, b, c`, without the question when
// nothing is near (core/config/nearest.h).
absl::Status UnknownName(absl::string_view what, absl::string_view name, absl::Span<const absl::string_view> known);

// Returns the enumerator with this name; `known` has the names of the enumerators 0, 1, ... in order. Otherwise the
// error of UnknownName.
template <typename Choice>
absl::StatusOr<Choice> ParseName(absl::string_view what, absl::string_view name,
                                 absl::Span<const absl::string_view> known) {
  for (size_t i = 0; i < known.size(); ++i) {
    if (name == known[i]) return static_cast<Choice>(i);
  }
  return UnknownName(what, name, known);
}

}  // namespace reprise

#endif  // CORE_CONFIG_UNKNOWN_NAME_H_
