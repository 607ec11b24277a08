#include "rl/schedule/rate_factors.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

constexpr double kMost = 1000;

// The parts of the pattern between its asterisks: the first begins the name, the last ends it, and the others follow
// each other in between. The earliest place of each leaves most room for the rest.
bool Matches(absl::string_view pattern, absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, '*');
  if (parts.size() == 1) return name == pattern;
  if (!absl::StartsWith(name, parts.front())) return false;
  name.remove_prefix(parts.front().size());
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const size_t place = name.find(parts[i]);
    if (place == absl::string_view::npos) return false;
    name.remove_prefix(place + parts[i].size());
  }
  return absl::EndsWith(name, parts.back());
}

// Returns the index of the first pattern that matches; factors.size() where none does.
size_t FindPattern(absl::string_view name, absl::Span<const RateFactor> factors) {
  const auto found =
      std::find_if(factors.begin(), factors.end(), [&](const RateFactor& each) { return Matches(each.pattern, name); });
  return static_cast<size_t>(found - factors.begin());
}

}  // namespace

absl::StatusOr<std::vector<RateFactor>> ParseRateFactors(const std::string& json) {
  std::vector<RateFactor> factors;
  if (json.empty()) return factors;
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const auto members, document.root().Members());
  for (const auto& [pattern, value] : members) {
    ASSIGN_OR_RETURN(const double factor, value.Number());
    if (!(factor >= 0 && factor <= kMost)) {
      return value.Error(absl::StrCat(factor, " is no factor of a learning rate; expected 0 to ", kMost));
    }
    factors.push_back({std::string(pattern), factor});
  }
  return factors;
}

double FindRateFactor(absl::string_view name, absl::Span<const RateFactor> factors) {
  const size_t index = FindPattern(name, factors);
  return index < factors.size() ? factors[index].factor : 1.0;
}

absl::Status CheckEachDecides(absl::Span<const RateFactor> factors, absl::Span<const std::string> names) {
  std::vector<bool> decides(factors.size() + 1);
  for (const std::string& name : names) decides[FindPattern(name, factors)] = true;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (decides[i]) continue;
    const std::string& pattern = factors[i].pattern;
    const bool matches =
        std::any_of(names.begin(), names.end(), [&](const std::string& name) { return Matches(pattern, name); });
    if (matches) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", pattern, "\" matches only tensors that an earlier pattern matches: write it before that"));
    }
    return absl::InvalidArgumentError(absl::StrCat("\"", pattern, "\" matches no trained tensor; they are ",
                                                   absl::StrJoin(names.subspan(0, 8), ", "),
                                                   names.size() > 8 ? ", ..." : ""));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
