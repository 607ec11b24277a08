#include "rl/environment/process_environment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/plausible.h"
#include "nlohmann/json.hpp"
#include "rl/environment/features.h"

namespace reprise::rl {
namespace {

const char* PhaseOf(Purpose purpose) {
  if (purpose == Purpose::kWarmUpTask) return "warm_up";
  return purpose == Purpose::kEvaluationTask ? "evaluation" : "training";
}

// The whole line of its file, where it has one.
nlohmann::json TaskOf(const data::Task& task) {
  nlohmann::json json = nlohmann::json::object();
  if (!task.more.empty()) json = nlohmann::json::parse(task.more, nullptr, /*allow_exceptions=*/false);
  CHECK(json.is_object());
  json["prompt"] = task.prompt;
  json["answer"] = task.has_answer ? nlohmann::json(task.answer) : nlohmann::json();
  return json;
}

nlohmann::json RequestOf(const Dialogue& dialogue, const char* event) {
  nlohmann::json request = {{"event", event},
                            {"seed", dialogue.place.seed},
                            {"phase", PhaseOf(dialogue.place.purpose)},
                            {"step", dialogue.place.step},
                            {"prompt", dialogue.place.prompt},
                            {"sample", dialogue.sample},
                            {"task", TaskOf(dialogue.task)}};
  if (dialogue.place.purpose == Purpose::kEvaluationTask) request["greedy"] = dialogue.greedy;
  request["actions"] = dialogue.actions;
  request["observations"] = nlohmann::json::array();
  for (const Reply& reply : dialogue.replies) request["observations"].push_back(reply.observation);
  nlohmann::json refused = nlohmann::json::array();
  for (size_t k = 0; k < dialogue.replies.size(); ++k) {
    if (dialogue.replies[k].tool_call == ToolCall::kRefused) refused.push_back(k);
  }
  if (!refused.empty()) request["refused"] = std::move(refused);
  return request;
}

// Whether the member is there and null; JsonValue::Find does not tell that from one that is missing.
absl::StatusOr<bool> IsNull(const JsonValue& object, absl::string_view member) {
  ASSIGN_OR_RETURN(const auto members, object.Members());
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& named) { return named.first == member && named.second.is_null(); });
}

absl::StatusOr<double> RewardOf(const JsonValue& reply) {
  ASSIGN_OR_RETURN(const bool is_null, IsNull(reply, "reward"));
  if (is_null) return reply.Error("its reward is null, which it may be in the reply to score alone");
  ASSIGN_OR_RETURN(const JsonValue value, reply.Get("reward"));
  ASSIGN_OR_RETURN(const double reward, value.Number());
  if (!IsPlausible(reward)) return value.Error("it is no reward: those are finite, 1e18 at most, and not subnormal");
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
    if (!std::isfinite(feature)) return element.Error("it is not finite");
    features->push_back(feature);
  }
  return absl::OkStatus();
}

absl::Status ReadReply(const JsonValue& json, Reply* reply) {
  RETURN_IF_ERROR(CheckMembers(json, {"observation", "features", "reward", "done", "truncated", "tool_call"}));
  ASSIGN_OR_RETURN(reply->reward, RewardOf(json));
  ASSIGN_OR_RETURN(const JsonValue done, json.Get("done"));
  ASSIGN_OR_RETURN(reply->done, done.Bool());
  RETURN_IF_ERROR(ReadFlag(json, "truncated", &reply->truncated));
  bool is_call = false;
  RETURN_IF_ERROR(ReadFlag(json, "tool_call", &is_call));
  if (is_call) reply->tool_call = ToolCall::kExecuted;
  const std::optional<JsonValue> observation = json.Find("observation"), features = json.Find("features");
  if (observation && features) return json.Error("it has both an observation and features: one of them is read");
  if (features) return ReadFeatures(*features, &reply->features);
  if (!observation) {
    if (reply->done || reply->truncated) return absl::OkStatus();
    return json.Error("/observation is missing although the episode goes on");
  }
  ASSIGN_OR_RETURN(const absl::string_view text, observation->String());
  reply->observation = std::string(text);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Reply> ProcessEnvironment::Step(const Dialogue& dialogue) {
  CHECK(client_ != nullptr);
  Reply reply;
  RETURN_IF_ERROR(client_->Ask(RequestOf(dialogue, "step"), NameOf(dialogue),
                               [&](const JsonValue& json) { return ReadReply(json, &reply); }));
  return reply;
}

absl::StatusOr<bool> ProcessEnvironment::IsToolCall(const Dialogue& dialogue) {
  CHECK(client_ != nullptr);
  bool is_call = false;
  RETURN_IF_ERROR(
      client_->Ask(RequestOf(dialogue, "is_tool_call"), NameOf(dialogue), [&](const JsonValue& json) -> absl::Status {
        RETURN_IF_ERROR(CheckMembers(json, {"tool_call"}));
        ASSIGN_OR_RETURN(const JsonValue value, json.Get("tool_call"));
        ASSIGN_OR_RETURN(is_call, value.Bool());
        return absl::OkStatus();
      }));
  return is_call;
}

absl::StatusOr<double> ScoreByProcess(ProcessClient& client, const Dialogue& dialogue, const std::string& text,
                                      bool terminated) {
  nlohmann::json request = RequestOf(dialogue, "score");
  request["completion"] = text;
  request["terminated"] = terminated;
  double reward = 0;
  RETURN_IF_ERROR(client.Ask(std::move(request), NameOf(dialogue), [&](const JsonValue& json) -> absl::Status {
    RETURN_IF_ERROR(CheckMembers(json, {"reward"}));
    ASSIGN_OR_RETURN(const bool is_null, IsNull(json, "reward"));
    if (is_null) {
      reward = std::numeric_limits<double>::quiet_NaN();
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(reward, RewardOf(json));
    return absl::OkStatus();
  }));
  return reward;
}

}  // namespace reprise::rl
