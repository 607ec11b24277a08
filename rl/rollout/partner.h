#ifndef RL_ROLLOUT_PARTNER_H_
#define RL_ROLLOUT_PARTNER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::rl {

// Whose turn it is when the policy has said something. Episodes are numbered prompt * G + sample, as they are in
// GenerateResult.
class Partner {
 public:
  virtual ~Partner() = default;

  // Whether an action is complete although its last token is no end token: asked after each of its tokens. Pure.
  virtual bool CompletesAction(absl::Span<const int32_t> action) const = 0;

  // The tokens that follow the action, or none: the episode is over. `complete`: it ended of itself, not at
  // max_action_length. Called once an action, turn after turn; from several threads for different episodes.
  virtual absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t> action,
                                                                     bool complete) = 0;
};

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_PARTNER_H_
