#include "rl/episodes/prompt.h"

#include "absl/strings/str_cat.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::rl {

void CutPrompt(const RolloutConfig& rollout, std::vector<int32_t>* tokens) {
  const int64_t beyond = static_cast<int64_t>(tokens->size()) - rollout.max_prompt_length;
  if (rollout.max_prompt_length == 0 || beyond <= 0) return;
  const auto first = rollout.truncation_side == TruncationSide::kLeft ? tokens->begin() : tokens->end() - beyond;
  tokens->erase(first, first + beyond);
}

absl::Status RequireTokens(absl::string_view name, absl::string_view text, const std::vector<int32_t>& tokens) {
  constexpr size_t kShown = 60;
  if (!tokens.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " has no tokens: the tokenizer leaves nothing of its prompt ",
                                                 Quoted(text, kShown),
                                                 ", and a completion follows at least one; change the prompt"));
}

absl::StatusOr<std::string> PromptAsRead(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                                         absl::string_view text) {
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, tokenizer.Encode(text));
  CutPrompt(rollout, &tokens);
  return tokenizer.Decode(tokens);
}

}  // namespace reprise::rl
