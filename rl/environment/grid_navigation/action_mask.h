#ifndef RL_ENVIRONMENT_GRID_NAVIGATION_ACTION_MASK_H_
#define RL_ENVIRONMENT_GRID_NAVIGATION_ACTION_MASK_H_

// Which tokens of what the policy wrote are its action: those alone are learned, its reasoning is not. Four methods, in
// this order:
//   json     the text's first object (FirstObject), if min_tokens <= tokens <= max_tokens       confidence 1
//   pattern  the first flat object with "rotation_angle_degrees" (FlatObjectWith)               confidence 0.7
//   last     of G >= 20 tokens the last min(max(floor(0.3 G), 15), G), not validated            confidence 0.3
//   failed   none                                                                               confidence 0
// A token belongs to an object if any of its bytes does.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl::grid_navigation {

// Stored in artifacts: do not change the values.
enum class MaskMethod : uint8_t { kJson, kPattern, kLast, kFailed };
absl::string_view MaskMethodName(MaskMethod method);
double ConfidenceOf(MaskMethod method);

struct ActionMask {
  MaskMethod method = MaskMethod::kFailed;
  double confidence = 0;
  bool validated = false;      // an object was found
  int64_t begin = 0, end = 0;  // tokens of the action; equal: none

  int64_t num_tokens() const { return end - begin; }

  bool operator==(const ActionMask&) const = default;
};

struct ActionTokenRange {
  int64_t min_tokens = 10, max_tokens = 100;
};

// text_T: what each token decodes to. Pure.
ActionMask MaskAction(absl::Span<const std::string> text_T, const ActionTokenRange& range = {});

}  // namespace reprise::rl::grid_navigation

#endif  // RL_ENVIRONMENT_GRID_NAVIGATION_ACTION_MASK_H_
