#ifndef RL_LEARNER_PLAUSIBLE_H_
#define RL_LEARNER_PLAUSIBLE_H_

// Which numbers a step can be made of. What is not finite would poison the weights; what is greater than any reward,
// log-probability, advantage or value, or a subnormal number where only sums, differences and logarithms of ordinary
// ones can stand, was not computed but is damage: of memory, or of the program.

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr double kMostPlausible = 1e18;

template <typename T>
bool IsPlausible(T value) {
  return std::isfinite(value) && std::fpclassify(value) != FP_SUBNORMAL &&
         std::fabs(static_cast<double>(value)) <= kMostPlausible;
}

// Internal, as "logprob of token 3 is inf", for the first of the values that is not plausible.
template <typename T>
absl::Status CheckPlausible(absl::Span<const T> value_T, absl::string_view name) {
  for (size_t t = 0; t < value_T.size(); ++t) {
    if (!IsPlausible(value_T[t])) return absl::InternalError(absl::StrCat(name, " of token ", t, " is ", value_T[t]));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl

#endif  // RL_LEARNER_PLAUSIBLE_H_
