#include "rl/environment/player.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/status_macros.h"
#include "rl/environment/features.h"

namespace reprise::rl {
namespace {

bool EndsWithEndToken(const TurnRules& rules, absl::Span<const int32_t> action) {
  return !action.empty() &&
         std::find(rules.end_tokens.begin(), rules.end_tokens.end(), action.back()) != rules.end_tokens.end();
}

// Where the first stop begins; npos: there is none.
size_t FirstStop(const TurnRules& rules, const std::string& text) {
  size_t first = std::string::npos;
  for (const std::string& stop : rules.stops) first = std::min(first, text.find(stop));
  return first;
}

// Features become the observation, and what was one is kept.
absl::Status WriteFeatures(const TurnRules& rules, const Dialogue& dialogue, Reply* reply) {
  if (reply->features.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> text = FeatureText(reply->features, rules.feature_bins);
  if (!text.ok()) {
    return absl::DataLossError(
        absl::StrCat("the environment's observation for ", NameOf(dialogue), " is none: ", text.status().message()));
  }
  reply->observation = *std::move(text);
  reply->features.clear();
  return absl::OkStatus();
}

}  // namespace

std::string ActionText(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action) {
  if (EndsWithEndToken(rules, action)) action.remove_suffix(1);
  std::string text = tokenizer.Decode(action);
  return text.substr(0, FirstStop(rules, text));
}

std::vector<std::string> ActionTokenTexts(const models::Tokenizer& tokenizer, const TurnRules& rules,
                                          absl::Span<const int32_t> action) {
  std::vector<std::string> text_T(action.size());
  if (EndsWithEndToken(rules, action)) action.remove_suffix(1);
  for (size_t t = 0; t < action.size(); ++t) text_T[t] = tokenizer.Decode(action.subspan(t, 1));
  size_t left = FirstStop(rules, absl::StrJoin(text_T, ""));
  for (std::string& text : text_T) {
    text.resize(std::min(text.size(), left));
    if (left != std::string::npos) left -= text.size();
  }
  return text_T;
}

bool IsComplete(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action) {
  if (EndsWithEndToken(rules, action)) return true;
  return !rules.stops.empty() && FirstStop(rules, tokenizer.Decode(action)) != std::string::npos;
}

Player::Player(Environment& environment, const models::Tokenizer& tokenizer, const TurnRules& rules,
               std::vector<Dialogue> dialogue_N)
    : environment_(environment), tokenizer_(tokenizer), rules_(rules), dialogue_N_(std::move(dialogue_N)) {}

bool Player::CompletesAction(absl::Span<const int32_t> action) const {
  return !rules_.stops.empty() && IsComplete(tokenizer_, rules_, action);
}

absl::StatusOr<std::optional<std::vector<int32_t>>> Player::Answer(int64_t episode, absl::Span<const int32_t> action,
                                                                   bool) {
  Dialogue& dialogue = dialogue_N_[static_cast<size_t>(episode)];
  dialogue.actions.push_back(ActionText(tokenizer_, rules_, action));
  ASSIGN_OR_RETURN(Reply reply, StepWithinCap(environment_, rules_.tool_calls, dialogue));
  if (!std::isfinite(reply.reward)) {
    return absl::DataLossError(absl::StrCat("the environment's reward for ", NameOf(dialogue), " is ", reply.reward));
  }
  RETURN_IF_ERROR(WriteFeatures(rules_, dialogue, &reply));
  dialogue.replies.push_back(std::move(reply));
  const Reply& last = dialogue.replies.back();
  if (last.done || last.truncated || static_cast<int64_t>(dialogue.actions.size()) == rules_.max_turns) {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<int32_t>> tokens = tokenizer_.Encode(last.observation);
  if (!tokens.ok()) {
    return absl::DataLossError(absl::StrCat("the environment's observation for ", NameOf(dialogue),
                                            " cannot be read: ", tokens.status().message()));
  }
  return std::optional<std::vector<int32_t>>(*std::move(tokens));
}

}  // namespace reprise::rl
