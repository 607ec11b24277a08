#ifndef RL_ENVIRONMENT_PLAYER_H_
#define RL_ENVIRONMENT_PLAYER_H_

// Between the policy's tokens and the environment's text. What the environment says becomes tokens once, and these
// tokens are what the policy reads, what is stored and what is scored: nothing is ever tokenised again.

#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.h"
#include "rl/environment/environment.h"
#include "rl/environment/tool_calls.h"
#include "rl/rollout/partner.h"

namespace reprise::rl {

// Without an environment a completion is what an action is with one.
struct TurnRules {
  int64_t max_turns = 1;
  std::vector<std::string> stops;   // texts that end an action, besides the end tokens
  std::vector<int32_t> end_tokens;  // the model's first
  ToolCallRules tool_calls = {};
  int64_t feature_bins = 1024;  // in which observations that are features are written
};

// The text of an action without the end token, or without the stop and what its last token has beyond it.
std::string ActionText(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action);

// What each of the action's tokens has of that text: nothing where that is over. Joined they are that text; a character
// that only several tokens together make is the last one's.
std::vector<std::string> ActionTokenTexts(const models::Tokenizer& tokenizer, const TurnRules& rules,
                                          absl::Span<const int32_t> action);

// Whether the action is complete: by an end token or by a stop.
bool IsComplete(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action);

// Plays the episodes of one draw.
class Player : public Partner {
 public:
  // One dialogue an episode, with neither actions nor replies. All must outlive this.
  Player(Environment& environment, const models::Tokenizer& tokenizer, const TurnRules& rules,
         std::vector<Dialogue> dialogue_N);

  bool CompletesAction(absl::Span<const int32_t> action) const override;

  // Errors: those of StepWithinCap; DataLoss, naming the episode, for a reward that is not finite, for features that
  // FeatureText refuses and an observation that has no tokens in this tokenizer.
  absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t> action,
                                                             bool complete) override;

  const Dialogue& dialogue(int64_t episode) const { return dialogue_N_[static_cast<size_t>(episode)]; }

 private:
  Environment& environment_;
  const models::Tokenizer& tokenizer_;
  const TurnRules& rules_;
  std::vector<Dialogue> dialogue_N_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_PLAYER_H_
