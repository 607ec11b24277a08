#ifndef RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_MASK_H_
#define RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_MASK_H_

// Finds the tokens of the policy's text that are its action: only these are learned, not its reasoning. They are the
// tokens of the object that the environment executes or rejects (FindAction); a token belongs to it if any of its bytes
// does. The methods:
//   json     it is the text's first object, and min_tokens <= tokens <= max_tokens               confidence 1
//   pattern  it is valid, or has "rotation_angle_degrees"                                        confidence 0.7
//   last     else, of G >= 20 tokens, the last min(max(floor(0.3 G), 15), G), not validated      confidence 0.3
//   failed   none                                                                                confidence 0

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl::grid_navigation {

using rl::MaskMethod;
absl::string_view MaskMethodName(MaskMethod method);
double MaskConfidence(MaskMethod method);

struct ActionMask {
  MaskMethod method = MaskMethod::kFailed;
  double confidence = 0;
  bool validated = false;      // an object was found
  bool valid = false;          // the environment accepts the action
  int64_t begin = 0, end = 0;  // tokens of the action; equal: none

  int64_t num_tokens() const { return end - begin; }

  bool operator==(const ActionMask&) const = default;
};

struct ActionTokenRange {
  int64_t min_tokens = 10, max_tokens = 100;
};

// text_T: each token's part of the text that the environment reads. choices: of an answer. Pure.
ActionMask MaskAction(absl::Span<const std::string> text_T, int64_t choices, const ActionTokenRange& range = {});

}  // namespace reprise::rl::grid_navigation

#endif  // RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_MASK_H_
