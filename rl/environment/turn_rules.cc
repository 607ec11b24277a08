#include "rl/environment/turn_rules.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

absl::StatusOr<std::vector<std::string>> TextsOf(const std::string& json) {
  std::vector<std::string> texts;
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, document.root().Elements());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view text, element.String());
    if (text.empty()) return element.Error("an empty text would end everything");
    texts.emplace_back(text);
  }
  return texts;
}

absl::StatusOr<std::vector<int32_t>> TokensOf(const std::string& json) {
  std::vector<int32_t> tokens;
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, document.root().Elements());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const int64_t token, element.Integer(0, std::numeric_limits<int32_t>::max()));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

absl::Status NoList(absl::string_view key, absl::string_view of_what, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat(key, " is no JSON list of ", of_what, ": ", why.message()));
}

}  // namespace

absl::StatusOr<TurnRules> TurnRulesOf(const Config& config, const std::vector<int32_t>& end_tokens) {
  const bool has_turns = !config.environment.name.empty();
  TurnRules rules = {.max_turns = config.environment.max_turns, .stops = {}, .end_tokens = end_tokens};
  const std::string& stop = has_turns ? config.environment.stop : config.rollout.stop;
  if (!stop.empty()) {
    absl::StatusOr<std::vector<std::string>> stops = TextsOf(stop);
    if (!stops.ok()) {
      return NoList(has_turns ? "environment.stop" : "rollout.stop", "texts, as [\"</answer>\"]", stops.status());
    }
    rules.stops = *std::move(stops);
  }
  if (config.rollout.stop_token_ids.empty()) return rules;
  const absl::StatusOr<std::vector<int32_t>> more = TokensOf(config.rollout.stop_token_ids);
  if (!more.ok()) return NoList("rollout.stop_token_ids", "tokens, as [7, 9]", more.status());
  for (const int32_t token : *more) {
    const bool is_known = std::find(rules.end_tokens.begin(), rules.end_tokens.end(), token) != rules.end_tokens.end();
    if (!is_known) rules.end_tokens.push_back(token);
  }
  return rules;
}

}  // namespace reprise::rl
