#ifndef RL_ENVIRONMENT_PLAYER_H_
#define RL_ENVIRONMENT_PLAYER_H_

// Converts between the policy's tokens and the environment's text. An observation is tokenised once; the policy reads
// these tokens, and they are stored and scored: nothing is tokenised twice.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/generation/partner.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

// Limits the tool calls of an episode (environment.max_tool_calls). The environment decides whether an action is a tool
// call. A call beyond the cap is not executed: the policy reads the refusal instead of an observation, and the episode
// continues.
struct ToolCallRules {
  int64_t most = 0;     // per episode; 0: calls are neither limited nor counted
  std::string refusal;  // the policy reads it instead of an observation
};

// Returns the number of executed calls of an episode. Pure.
int64_t NumExecutedCalls(const Dialogue& dialogue);

// Returns the reply to the dialogue's last action under the rules: the environment's, or the refusal with reward 0.
// Errors: the environment's; DataLoss, naming the episode, if it executes a call after IsToolCall returned false, or
// returns kRefused itself.
absl::StatusOr<Reply> StepWithinCap(Session& session, const ToolCallRules& rules, const Dialogue& dialogue);

// Without an environment these rules apply to a completion, as to an action with one.
struct TurnRules {
  int64_t max_turns = 1;
  std::vector<std::string> stops;   // texts that end an action, besides the end tokens
  std::vector<int32_t> end_tokens;  // the model's first
  ToolCallRules tool_calls = {};
  int64_t feature_bins = 1024;  // for observations that are features
};

// Returns the text of an action without the end token, or without the stop and any text after it in its last token.
std::string ActionText(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action);

// Returns each token's part of that text: empty after the text's end. Joined, the parts are the text; a character that
// spans several tokens belongs to the last of them.
std::vector<std::string> ActionTokenTexts(const models::Tokenizer& tokenizer, const TurnRules& rules,
                                          absl::Span<const int32_t> action);

// Returns whether the action is complete: it has an end token or a stop.
bool IsComplete(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action);

// Plays the episodes of one batch of draws.
class Player : public models::Partner {
 public:
  // One dialogue per episode, without actions or replies. All references must outlive this object.
  Player(Environment& environment, const models::Tokenizer& tokenizer, const TurnRules& rules,
         std::vector<Dialogue> dialogue_N);

  bool CompletesAction(absl::Span<const int32_t> action) const override;

  // Errors: those of StepWithinCap; DataLoss, naming the episode, for a reward that is not finite, for features that
  // FeatureText rejects and for an observation that the tokenizer cannot encode.
  absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t> action,
                                                             bool complete) override;

  const Dialogue& dialogue(int64_t episode) const { return dialogue_N_[episode]; }

 private:
  const models::Tokenizer& tokenizer_;
  const TurnRules& rules_;
  std::vector<Dialogue> dialogue_N_;
  std::vector<std::unique_ptr<Session>> session_N_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_PLAYER_H_
