#include "core/status/nearest_name.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace reprise {
namespace {

// Optimal string alignment: rows over prefixes of `a`, columns over prefixes of `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> known) {
  absl::string_view nearest;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (absl::string_view candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

absl::Status UnknownName(absl::string_view what, absl::string_view name, absl::Span<const absl::string_view> known) {
  const absl::string_view nearest = NearestName(name, known);
  const std::string hint =
      nearest.empty() ? "; known are: " : absl::StrCat("; did you mean \"", nearest, "\"? Known are: ");
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", what, " \"", name, "\"", hint, absl::StrJoin(known, ", ")));
}

}  // namespace reprise
