#include "core/config/nearest.h"

#include <algorithm>
#include <vector>

namespace reprise::config {

int EditDistance(absl::string_view a, absl::string_view b) {
  // rows[i % 3][j] is the distance between the first i bytes of a and the first j of b.
  std::vector<int> rows[3];
  for (std::vector<int>& row : rows) row.resize(b.size() + 1);
  for (size_t i = 0; i <= a.size(); ++i) {
    std::vector<int>& row = rows[i % 3];
    const std::vector<int>& above = rows[(i + 2) % 3];
    const std::vector<int>& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      if (i == 0) {
        row[j] = static_cast<int>(j);
        continue;
      }
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::optional<std::string> Nearest(absl::string_view name, absl::Span<const std::string> candidates) {
  constexpr size_t kLongest = 100;
  if (name.size() > kLongest) return std::nullopt;
  std::optional<std::string> nearest;
  int least = 0;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    const int allowed = std::max(1, static_cast<int>(std::max(name.size(), candidate.size()) / 3));
    if (distance > allowed || (nearest.has_value() && distance >= least)) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

}  // namespace reprise::config
