#include "rl/environments/grid_navigation/action_mask.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "rl/environments/grid_navigation/action.h"

namespace reprise::rl::grid_navigation {
namespace {

// Returns the tokens that have bytes of the span.
ActionMask SelectTokens(absl::Span<const std::string> text_T, const ByteSpan& span) {
  ActionMask mask;
  size_t byte = 0;
  bool found = false;
  for (size_t t = 0; t < text_T.size(); ++t) {
    const size_t next = byte + text_T[t].size();
    if (byte < span.end && next > span.begin) {
      if (!found) mask.begin = static_cast<int64_t>(t);
      found = true;
      mask.end = static_cast<int64_t>(t) + 1;
    }
    byte = next;
  }
  return mask;
}

// Returns how the action was found; kFailed: the object does not count as an action.
MaskMethod ChooseMaskMethod(const FoundAction& found, int64_t tokens, const ActionTokenRange& range) {
  if (found.is_first && tokens >= range.min_tokens && tokens <= range.max_tokens) return MaskMethod::kJson;
  return found.action.ok() || found.has_rotation ? MaskMethod::kPattern : MaskMethod::kFailed;
}

}  // namespace

absl::string_view MaskMethodName(MaskMethod method) {
  switch (method) {
    case MaskMethod::kJson:
      return "json";
    case MaskMethod::kPattern:
      return "pattern";
    case MaskMethod::kLast:
      return "last";
    case MaskMethod::kFailed:
      break;
  }
  return "failed";
}

double MaskConfidence(MaskMethod method) {
  switch (method) {
    case MaskMethod::kJson:
      return 1.0;
    case MaskMethod::kPattern:
      return 0.7;
    case MaskMethod::kLast:
      return 0.3;
    case MaskMethod::kFailed:
      break;
  }
  return 0.0;
}

ActionMask MaskAction(absl::Span<const std::string> text_T, int64_t choices, const ActionTokenRange& range) {
  const FoundAction found = FindAction(absl::StrJoin(text_T, ""), choices);
  ActionMask mask = SelectTokens(text_T, found.object);
  mask.method = ChooseMaskMethod(found, mask.num_tokens(), range);
  mask.confidence = MaskConfidence(mask.method);
  mask.validated = true;
  mask.valid = found.action.ok();
  if (mask.method != MaskMethod::kFailed) return mask;
  const int64_t tokens = static_cast<int64_t>(text_T.size());
  if (tokens < 20) return {};
  const int64_t last = std::min(std::max(static_cast<int64_t>(0.3 * static_cast<double>(tokens)), int64_t{15}), tokens);
  return {.method = MaskMethod::kLast,
          .confidence = MaskConfidence(MaskMethod::kLast),
          .begin = tokens - last,
          .end = tokens};
}

}  // namespace reprise::rl::grid_navigation
