#include "tests/golden/errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise::golden {

void Errors::Compare(const std::string& kind, double actual, double expected, double tolerance,
                     const std::string& where) {
  double error = std::fabs(actual - expected);
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  const double part = error == 0 ? 0 : error / tolerance;
  Kind& k = kinds_[kind];
  ++k.count;
  k.largest = std::max(k.largest, error);
  if (part > k.largest_part) {
    k.largest_part = part;
    k.where = where;
  }
}

void Errors::CompareExactly(const std::string& kind, int64_t actual, int64_t expected, const std::string& where) {
  Compare(kind, static_cast<double>(actual), static_cast<double>(expected), 0, where);
}

void Errors::CompareExactly(const std::string& kind, bool equal, const std::string& where) {
  Compare(kind, equal ? 0 : 1, 0, 0, where);
}

bool Errors::Within() const {
  return !kinds_.empty() &&
         std::all_of(kinds_.begin(), kinds_.end(), [](const auto& kind) { return kind.second.largest_part <= 1; });
}

bool Errors::Within(const std::string& kind) const {
  const auto found = kinds_.find(kind);
  return found != kinds_.end() && found->second.largest_part <= 1;
}

std::string Errors::ToString() const {
  std::string text;
  for (const auto& [name, kind] : kinds_) {
    absl::StrAppendFormat(&text, "  %-32s %7d compared", name, kind.count);
    if (kind.largest == 0) {
      absl::StrAppend(&text, ", all equal\n");
    } else {
      absl::StrAppendFormat(&text, ", largest error %.2e; at most %.1f%% of a tolerance, at %s\n", kind.largest,
                            100 * kind.largest_part, kind.where);
    }
  }
  return text;
}

}  // namespace reprise::golden
