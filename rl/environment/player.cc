#include "rl/environment/player.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/environment/features.h"

namespace reprise::rl {
namespace {

bool EndsWithEndToken(const TurnRules& rules, absl::Span<const int32_t> action) {
  return !action.empty() &&
         std::find(rules.end_tokens.begin(), rules.end_tokens.end(), action.back()) != rules.end_tokens.end();
}

// Returns where the first stop begins; npos without one.
size_t FirstStop(const TurnRules& rules, const std::string& text) {
  size_t first = std::string::npos;
  for (const std::string& stop : rules.stops) first = std::min(first, text.find(stop));
  return first;
}

// Returns where each token's bytes end in the text that all of them decode to.
std::vector<size_t> TokenEnds(const models::Tokenizer& tokenizer, absl::Span<const int32_t> tokens) {
  const std::string text = tokenizer.Decode(tokens);
  std::vector<size_t> end_T;
  std::string joined;
  for (size_t t = 0; t < tokens.size(); ++t) {
    joined += tokenizer.Decode(tokens.subspan(t, 1));
    end_T.push_back(joined.size());
  }
  if (joined == text) return end_T;
  // The text so far has a replacement character in place of an incomplete one.
  size_t end = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const std::string so_far = tokenizer.Decode(tokens.first(t + 1));
    while (end < std::min(so_far.size(), text.size()) && so_far[end] == text[end]) ++end;
    end_T[t] = end;
    while (end_T[t] < text.size() && (static_cast<uint8_t>(text[end_T[t]]) & 0xC0) == 0x80) --end_T[t];
  }
  return end_T;
}

// Replaces features by the observation text; an observation that is text stays unchanged.
absl::Status WriteFeatures(const TurnRules& rules, const Dialogue& dialogue, Reply* reply) {
  if (reply->features.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> text = FeatureText(reply->features, rules.feature_bins);
  if (!text.ok()) {
    return absl::DataLossError(absl::StrCat("the environment's observation for ", DialogueName(dialogue),
                                            " is invalid: ", text.status().message()));
  }
  reply->observation = *std::move(text);
  reply->features.clear();
  return absl::OkStatus();
}

}  // namespace

int64_t NumExecutedCalls(const Dialogue& dialogue) {
  return std::count_if(dialogue.replies.begin(), dialogue.replies.end(),
                       [](const Reply& reply) { return reply.tool_call == ToolCall::kExecuted; });
}

absl::StatusOr<Reply> StepWithinCap(Session& session, const ToolCallRules& rules, const Dialogue& dialogue) {
  const bool is_at_cap = rules.most > 0 && NumExecutedCalls(dialogue) >= rules.most;
  if (is_at_cap) {
    ASSIGN_OR_RETURN(const bool is_call, session.IsToolCall(dialogue));
    if (is_call) return Reply{.observation = rules.refusal, .tool_call = ToolCall::kRefused};
  }
  ASSIGN_OR_RETURN(Reply reply, session.Step(dialogue));
  if (reply.tool_call == ToolCall::kRefused) {
    return absl::DataLossError(absl::StrCat("the tool call of ", DialogueName(dialogue),
                                            " was refused although max_tool_calls was not reached"));
  }
  if (rules.most == 0) reply.tool_call = ToolCall::kNone;
  if (is_at_cap && reply.tool_call != ToolCall::kNone) {
    return absl::DataLossError(absl::StrCat("the environment reports for ", DialogueName(dialogue),
                                            " a tool call, although it had replied that the action is none"));
  }
  return reply;
}

std::string ActionText(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action) {
  if (EndsWithEndToken(rules, action)) action.remove_suffix(1);
  std::string text = tokenizer.Decode(action);
  return text.substr(0, FirstStop(rules, text));
}

std::vector<std::string> ActionTokenTexts(const models::Tokenizer& tokenizer, const TurnRules& rules,
                                          absl::Span<const int32_t> action) {
  const std::string text = ActionText(tokenizer, rules, action);
  std::vector<std::string> text_T(action.size());
  if (EndsWithEndToken(rules, action)) action.remove_suffix(1);
  const std::vector<size_t> end_T = TokenEnds(tokenizer, action);
  size_t begin = 0;
  for (size_t t = 0; t < action.size() && begin < text.size(); ++t) {
    text_T[t] = text.substr(begin, end_T[t] - begin);
    begin = end_T[t];
  }
  return text_T;
}

bool IsComplete(const models::Tokenizer& tokenizer, const TurnRules& rules, absl::Span<const int32_t> action) {
  if (EndsWithEndToken(rules, action)) return true;
  return !rules.stops.empty() && FirstStop(rules, tokenizer.Decode(action)) != std::string::npos;
}

Player::Player(Environment& environment, const models::Tokenizer& tokenizer, const TurnRules& rules,
               std::vector<Dialogue> dialogue_N)
    : tokenizer_(tokenizer), rules_(rules), dialogue_N_(std::move(dialogue_N)) {
  for (const Dialogue& dialogue : dialogue_N_) session_N_.push_back(environment.Reset(dialogue));
}

bool Player::CompletesAction(absl::Span<const int32_t> action) const {
  return !rules_.stops.empty() && IsComplete(tokenizer_, rules_, action);
}

absl::StatusOr<std::optional<std::vector<int32_t>>> Player::Answer(int64_t episode, absl::Span<const int32_t> action,
                                                                   bool) {
  Dialogue& dialogue = dialogue_N_[episode];
  dialogue.actions.push_back(ActionText(tokenizer_, rules_, action));
  ASSIGN_OR_RETURN(Reply reply, StepWithinCap(*session_N_[episode], rules_.tool_calls, dialogue));
  if (!std::isfinite(reply.reward)) {
    return absl::DataLossError(
        absl::StrCat("the environment's reward for ", DialogueName(dialogue), " is ", reply.reward));
  }
  RETURN_IF_ERROR(WriteFeatures(rules_, dialogue, &reply));
  dialogue.replies.push_back(std::move(reply));
  const Reply& last = dialogue.replies.back();
  if (last.done || last.truncated || static_cast<int64_t>(dialogue.actions.size()) == rules_.max_turns) {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<int32_t>> tokens = tokenizer_.Encode(last.observation);
  if (!tokens.ok()) {
    return absl::DataLossError(absl::StrCat("the environment's observation for ", DialogueName(dialogue),
                                            " cannot be read: ", tokens.status().message()));
  }
  return std::optional<std::vector<int32_t>>(*std::move(tokens));
}

}  // namespace reprise::rl
