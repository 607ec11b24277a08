#include "rl/environments/grid_navigation/episode_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace reprise::rl::grid_navigation {
namespace {

std::string DropoutReason(absl::Span<const TurnCheck> turns) {
  if (turns.empty()) return "no_turns_generated";
  const auto uses = [](MaskMethod method) { return [method](const TurnCheck& turn) { return turn.method == method; }; };
  if (std::any_of(turns.begin(), turns.end(), uses(MaskMethod::kFailed))) return "masking_failed";
  for (const TurnCheck& turn : turns) {
    if (!turn.action_error.empty()) return absl::StrCat("invalid_action: ", turn.action_error);
  }
  if (std::all_of(turns.begin(), turns.end(), uses(MaskMethod::kLast))) return "all_turns_low_confidence_masking";
  return "";
}

}  // namespace

MaskingQuality ComputeMaskingQuality(absl::Span<const double> turn_confidence) {
  if (turn_confidence.empty()) return MaskingQuality::kFallbackUsed;
  double sum = 0.0;
  for (double confidence : turn_confidence) sum += confidence;
  const double mean = sum / static_cast<double>(turn_confidence.size());
  return mean >= 0.9   ? MaskingQuality::kGood
         : mean >= 0.6 ? MaskingQuality::kLowConfidence
                       : MaskingQuality::kFallbackUsed;
}

absl::string_view MaskingQualityName(MaskingQuality quality) {
  constexpr absl::string_view kNames[] = {"good", "low_confidence", "fallback_used"};
  return kNames[static_cast<size_t>(quality)];
}

EpisodeCheck CheckEpisode(absl::Span<const TurnCheck> turns) {
  std::vector<double> confidences;
  for (const TurnCheck& turn : turns) confidences.push_back(turn.confidence);
  return {DropoutReason(turns), ComputeMaskingQuality(confidences)};
}

absl::string_view ReasonKind(absl::string_view dropout_reason) {
  return dropout_reason.substr(0, dropout_reason.find(':'));
}

}  // namespace reprise::rl::grid_navigation
