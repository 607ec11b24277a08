#ifndef RL_SCHEDULE_RATE_FACTORS_H_
#define RL_SCHEDULE_RATE_FACTORS_H_

// Groups of parameters with learning rates of their own: a factor by the names of tensors, which multiplies whatever
// rate the optimizer, its schedule or an SFT phase gives a tensor.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

struct RateFactor {
  std::string pattern;  // of names; each * stands for any text, which may be empty
  double factor = 1;    // 0 to 1000; 0: the tensors stay as they are
};

// Returns the factors of a JSON object, in its order, as {"v_head.*": 10, "*.mlp.gate.weight": 0.1}; of an empty text
// none. InvalidArgument, naming the place, for anything else. Pure.
absl::StatusOr<std::vector<RateFactor>> ParseRateFactors(const std::string& json);

// Returns the factor of the first pattern that matches the whole name; 1 where none does.
double FindRateFactor(absl::string_view name, absl::Span<const RateFactor> factors);

// InvalidArgument for the first pattern that decides about none of the names: it matches none, or an earlier one
// matches all that it does.
absl::Status CheckEachDecides(absl::Span<const RateFactor> factors, absl::Span<const std::string> names);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_RATE_FACTORS_H_
