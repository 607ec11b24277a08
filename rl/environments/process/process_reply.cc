#include "rl/environments/process/process_reply.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "rl/environment/features.h"

namespace reprise::rl {
namespace {

// As that of environment.turn_reward: sums, weights and squares of such numbers remain within bounds.
constexpr double kMostReward = 1e9;
constexpr double kMostFeature = 1e9;

// Returns InvalidArgument unless every member of the object is "id" or one of `known`.
absl::Status CheckMembers(const JsonValue& object, const std::vector<absl::string_view>& known) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  for (const auto& [name, value] : members) {
    if (name == "id" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    return UnknownName("member", name, known);
  }
  return absl::OkStatus();
}

// Returns whether the member is present and null, which JsonValue::Find does not distinguish from a missing one.
absl::StatusOr<bool> IsNull(const JsonValue& object, absl::string_view member) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& named) { return named.first == member && named.second.is_null(); });
}

absl::StatusOr<double> ParseReward(const JsonValue& reply) {
  ASSIGN_OR_RETURN(const bool is_null, IsNull(reply, "reward"));
  if (is_null) return reply.Error("its reward is null, which is allowed only in the reply to score");
  ASSIGN_OR_RETURN(const JsonValue value, reply.Get("reward"));
  ASSIGN_OR_RETURN(const double reward, value.Number());
  if (!IsWithinBounds(reward) || std::fabs(reward) > kMostReward) {
    return value.Error("it is not a valid reward: rewards are from -1e9 to 1e9, and not subnormal");
  }
  return reward;
}

absl::Status ReadFlag(const JsonValue& reply, absl::string_view name, bool* flag) {
  const std::optional<JsonValue> value = reply.Find(name);
  if (!value) return absl::OkStatus();
  ASSIGN_OR_RETURN(*flag, value->Bool());
  return absl::OkStatus();
}

absl::Status ReadFeatures(const JsonValue& json, std::vector<double>* features) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, json.Elements());
  const int64_t count = static_cast<int64_t>(elements.size());
  if (count == 0 || count > kMostFeatures) {
    return json.Error(absl::StrCat("it has ", count, " features; an observation has 1 to ", kMostFeatures));
  }
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const double feature, element.Number());
    if (!(std::fabs(feature) <= kMostFeature)) return element.Error("it is not a number from -1e9 to 1e9");
    features->push_back(feature);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseProcessReply(absl::string_view line, int64_t id,
                               const std::function<absl::Status(const JsonValue& reply)>& take) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(line));
  const JsonValue reply = document.root();
  ASSIGN_OR_RETURN(const JsonValue replied, reply.Get("id"));
  RETURN_IF_ERROR(replied.Integer(id, id).status());
  return take(reply);
}

absl::StatusOr<Reply> ReadStepReply(const JsonValue& json) {
  Reply reply;
  RETURN_IF_ERROR(CheckMembers(json, {"observation", "features", "reward", "done", "truncated", "tool_call"}));
  ASSIGN_OR_RETURN(reply.reward, ParseReward(json));
  ASSIGN_OR_RETURN(const JsonValue done, json.Get("done"));
  ASSIGN_OR_RETURN(reply.done, done.Bool());
  RETURN_IF_ERROR(ReadFlag(json, "truncated", &reply.truncated));
  bool is_call = false;
  RETURN_IF_ERROR(ReadFlag(json, "tool_call", &is_call));
  if (is_call) reply.tool_call = ToolCall::kExecuted;
  const std::optional<JsonValue> observation = json.Find("observation"), features = json.Find("features");
  if (observation && features) return json.Error("it has both an observation and features; send only one of them");
  if (features) {
    RETURN_IF_ERROR(ReadFeatures(*features, &reply.features));
    return reply;
  }
  if (!observation) {
    if (reply.done || reply.truncated) return reply;
    return json.Error("/observation is missing although the episode continues");
  }
  ASSIGN_OR_RETURN(const absl::string_view text, observation->String());
  reply.observation = std::string(text);
  return reply;
}

absl::StatusOr<bool> ReadToolCallReply(const JsonValue& json) {
  RETURN_IF_ERROR(CheckMembers(json, {"tool_call"}));
  ASSIGN_OR_RETURN(const JsonValue value, json.Get("tool_call"));
  return value.Bool();
}

absl::StatusOr<double> ReadScoreReply(const JsonValue& json) {
  RETURN_IF_ERROR(CheckMembers(json, {"reward"}));
  ASSIGN_OR_RETURN(const bool is_null, IsNull(json, "reward"));
  if (is_null) return std::numeric_limits<double>::quiet_NaN();
  return ParseReward(json);
}

}  // namespace reprise::rl
