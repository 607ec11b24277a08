#include "rl/environment/process_environment.h"

#include <cmath>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"

namespace reprise::rl {
namespace {

const char* PhaseOf(Purpose purpose) {
  if (purpose == Purpose::kWarmUpTask) return "warm_up";
  return purpose == Purpose::kEvaluationTask ? "evaluation" : "training";
}

nlohmann::json RequestOf(const Dialogue& dialogue, const char* event) {
  nlohmann::json request = {{"event", event},
                            {"seed", dialogue.place.seed},
                            {"phase", PhaseOf(dialogue.place.purpose)},
                            {"step", dialogue.place.step},
                            {"prompt", dialogue.place.prompt},
                            {"sample", dialogue.sample},
                            {"task", {{"prompt", dialogue.task.prompt}, {"answer", dialogue.task.answer}}}};
  if (dialogue.place.purpose == Purpose::kEvaluationTask) request["greedy"] = dialogue.greedy;
  request["actions"] = dialogue.actions;
  request["observations"] = nlohmann::json::array();
  for (const Reply& reply : dialogue.replies) request["observations"].push_back(reply.observation);
  return request;
}

absl::StatusOr<double> RewardOf(const JsonValue& reply) {
  ASSIGN_OR_RETURN(const JsonValue value, reply.Get("reward"));
  ASSIGN_OR_RETURN(const double reward, value.Number());
  if (!std::isfinite(reward)) return value.Error("it is not finite");
  return reward;
}

absl::Status ReadFlag(const JsonValue& reply, absl::string_view name, bool* flag) {
  const std::optional<JsonValue> value = reply.Find(name);
  if (!value) return absl::OkStatus();
  ASSIGN_OR_RETURN(*flag, value->Bool());
  return absl::OkStatus();
}

absl::Status ReadReply(const JsonValue& json, Reply* reply) {
  RETURN_IF_ERROR(CheckMembers(json, {"observation", "reward", "done", "truncated"}));
  ASSIGN_OR_RETURN(reply->reward, RewardOf(json));
  ASSIGN_OR_RETURN(const JsonValue done, json.Get("done"));
  ASSIGN_OR_RETURN(reply->done, done.Bool());
  RETURN_IF_ERROR(ReadFlag(json, "truncated", &reply->truncated));
  const std::optional<JsonValue> observation = json.Find("observation");
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

absl::StatusOr<double> ScoreByProcess(ProcessClient& client, const Dialogue& dialogue, const std::string& text,
                                      bool terminated) {
  nlohmann::json request = RequestOf(dialogue, "score");
  request["completion"] = text;
  request["terminated"] = terminated;
  double reward = 0;
  RETURN_IF_ERROR(client.Ask(std::move(request), NameOf(dialogue), [&](const JsonValue& json) -> absl::Status {
    RETURN_IF_ERROR(CheckMembers(json, {"reward"}));
    ASSIGN_OR_RETURN(reward, RewardOf(json));
    return absl::OkStatus();
  }));
  return reward;
}

}  // namespace reprise::rl
