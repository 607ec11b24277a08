#ifndef MODELS_GENERATION_PARTNER_H_
#define MODELS_GENERATION_PARTNER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::models {

// Replies to the policy's actions. Episodes are numbered prompt * G + sample, as in GenerateResult.
class Partner {
 public:
  virtual ~Partner() = default;

  // Returns whether an action is complete although its last token is not an end token; called after each of its tokens.
  // Pure.
  virtual bool CompletesAction(absl::Span<const int32_t> action) const = 0;

  // Returns the tokens that follow the action, or nullopt if the episode is over. `complete`: the action ended by
  // itself, not at max_action_length. Called once per action, turn by turn; from several threads for different
  // episodes.
  virtual absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t> action,
                                                                     bool complete) = 0;
};

}  // namespace reprise::models

#endif  // MODELS_GENERATION_PARTNER_H_
