#ifndef RL_EPISODES_PROMPT_H_
#define RL_EPISODES_PROMPT_H_

// A prompt as the policy reads it, in training and in evaluations alike.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Truncates to rollout.max_prompt_length tokens (0: no limit), removing those on rollout.truncation_side. Pure.
void CutPrompt(const RolloutConfig& rollout, std::vector<int32_t>* tokens);

// InvalidArgument, beginning with the problem's name, for a prompt of no tokens, after which nothing can be sampled.
// Pure.
absl::Status RequireTokens(absl::string_view name, absl::string_view text, const std::vector<int32_t>& tokens);

// Returns the text of the tokens of `text` after truncation: prompts that the policy cannot distinguish have the same.
// Problems are split by it (rl/episodes/draw_problem.h). Pure. Errors as Tokenizer::Encode.
absl::StatusOr<std::string> PromptAsRead(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                                         absl::string_view text);

}  // namespace reprise::rl

#endif  // RL_EPISODES_PROMPT_H_
