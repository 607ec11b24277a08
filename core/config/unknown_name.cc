#include "core/config/unknown_name.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/nearest.h"

namespace reprise {

absl::Status UnknownName(absl::string_view what, absl::string_view name, absl::Span<const absl::string_view> known) {
  const std::vector<std::string> candidates(known.begin(), known.end());
  const std::optional<std::string> nearest = config::Nearest(name, candidates);
  const std::string hint = nearest ? absl::StrCat("; did you mean \"", *nearest, "\"? Known are: ") : "; known are: ";
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", what, " \"", name, "\"", hint, absl::StrJoin(known, ", ")));
}

}  // namespace reprise
