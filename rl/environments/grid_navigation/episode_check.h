#ifndef RL_ENVIRONMENTS_GRID_NAVIGATION_EPISODE_CHECK_H_
#define RL_ENVIRONMENTS_GRID_NAVIGATION_EPISODE_CHECK_H_

// Checks whether a finished episode can be learned from, and gives the reason if not.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rl/environments/grid_navigation/action_mask.h"

namespace reprise::rl::grid_navigation {

// How reliably the tokens of an episode's actions were found in the policy's text, by the mean confidence of its turns:
// good from 0.9 on, low_confidence from 0.6 on, else (or without any turn) fallback_used.
enum class MaskingQuality { kGood, kLowConfidence, kFallbackUsed };

MaskingQuality ComputeMaskingQuality(absl::Span<const double> turn_confidence);
absl::string_view MaskingQualityName(MaskingQuality quality);

struct TurnCheck {
  MaskMethod method = MaskMethod::kFailed;
  double confidence = 0;
  std::string action_error;  // from ParseAction or ValidateAction; empty: the action is valid
};

struct EpisodeCheck {
  std::string dropout_reason;  // empty: the episode is valid
  MaskingQuality quality = MaskingQuality::kFallbackUsed;

  bool is_valid() const { return dropout_reason.empty(); }
};

// The prefixes of dropout reasons, in the order in which they are checked.
inline constexpr absl::string_view kDropoutReasons[] = {"no_turns_generated", "masking_failed", "invalid_action",
                                                        "all_turns_low_confidence_masking"};

// "invalid_action" of "invalid_action: Invalid answer format".
absl::string_view ReasonKind(absl::string_view dropout_reason);

// Returns the first reason that applies: no_turns_generated; masking_failed, in any turn; invalid_action: <error>, of
// the first invalid one; all_turns_low_confidence_masking, where every turn has MaskMethod::kLast. Pure.
EpisodeCheck CheckEpisode(absl::Span<const TurnCheck> turns);

}  // namespace reprise::rl::grid_navigation

#endif  // RL_ENVIRONMENTS_GRID_NAVIGATION_EPISODE_CHECK_H_
