#ifndef RL_ROLLOUT_PROMPT_H_
#define RL_ROLLOUT_PROMPT_H_

// A prompt as the policy reads it, in training and in evaluations alike.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"

namespace reprise::rl {

// The tokens of `text`; of more than rollout.max_prompt_length (0: no bound) those on rollout.truncation_side are left
// out. Pure. Errors as Tokenizer::Encode.
absl::StatusOr<std::vector<int32_t>> PromptTokens(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                                                  absl::string_view text);

// The text of these tokens: prompts that the policy cannot tell apart have the same. Problems are split by it
// (rl/evaluation/held_out.h). Pure. Errors as above.
absl::StatusOr<std::string> PromptAsRead(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                                         absl::string_view text);

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_PROMPT_H_
