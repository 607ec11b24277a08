#include "rl/episodes/turn_rules.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/config/text_list.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

absl::StatusOr<std::vector<int32_t>> ParseTokens(const std::string& json) {
  std::vector<int32_t> tokens;
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, document.root().Elements());
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const int64_t token, element.Integer(0, std::numeric_limits<int32_t>::max()));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

}  // namespace

absl::StatusOr<TurnRules> MakeTurnRules(const Config& config, const std::vector<int32_t>& end_tokens) {
  const bool has_turns = !config.environment.name.empty();
  TurnRules rules = {.max_turns = config.environment.max_turns, .stops = {}, .end_tokens = end_tokens};
  ASSIGN_OR_RETURN(rules.stops, has_turns ? config::TextListOf("environment.stop", config.environment.stop)
                                          : config::TextListOf("rollout.stop", config.rollout.stop));
  rules.tool_calls = {config.environment.max_tool_calls, config.environment.tool_call_refusal};
  rules.feature_bins = config.environment.feature_bins;
  if (config.rollout.stop_token_ids.empty()) return rules;
  const absl::StatusOr<std::vector<int32_t>> more = ParseTokens(config.rollout.stop_token_ids);
  if (!more.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rollout.stop_token_ids is not a JSON list of tokens, such as [7, 9]: ", more.status().message()));
  }
  for (const int32_t token : *more) {
    const bool is_known = std::find(rules.end_tokens.begin(), rules.end_tokens.end(), token) != rules.end_tokens.end();
    if (!is_known) rules.end_tokens.push_back(token);
  }
  return rules;
}

}  // namespace reprise::rl
