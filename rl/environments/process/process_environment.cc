#include "rl/environments/process/process_environment.h"

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "rl/environments/process/process_reply.h"

namespace reprise::rl {
namespace {

const char* PhaseText(Purpose purpose) {
  if (purpose == Purpose::kSftTask) return "sft";
  return purpose == Purpose::kEvaluationTask ? "evaluation" : "training";
}

// Serialises on one line; bytes that are not UTF-8 become U+FFFD.
std::string Text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the whole line of the task's file, where it has one. Its other members are not parsed, so that their numbers
// keep digits that neither 64 bits nor a double have.
std::string TaskLine(const data::Task& task) {
  std::string text =
      Text({{"prompt", task.prompt}, {"answer", task.has_answer ? nlohmann::json(task.answer) : nlohmann::json()}});
  if (!task.more.empty()) text.replace(text.size() - 1, 1, absl::StrCat(",", task.more.substr(1)));
  return text;
}

nlohmann::json MakeRequest(const Dialogue& dialogue, const char* event) {
  nlohmann::json request = {{"event", event},
                            {"seed", dialogue.place.seed},
                            {"phase", PhaseText(dialogue.place.purpose)},
                            {"step", dialogue.place.step},
                            {"prompt", dialogue.place.prompt},
                            {"sample", dialogue.sample},
                            {"task", nullptr}};
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

// Asks about the dialogue's task, with `request`, whose "task" is null.
absl::Status Ask(ProcessClient& client, nlohmann::json request, const Dialogue& dialogue,
                 const std::function<absl::Status(const JsonValue& reply)>& take) {
  const auto text_of = [&](int64_t id) {
    request["id"] = id;
    std::string text = Text(request);
    // This name is no part of a string, in which its quotation marks would have backslashes.
    constexpr absl::string_view kTask = "\"task\":", kNull = "null";
    const size_t at = text.find(absl::StrCat(kTask, kNull));
    CHECK_NE(at, std::string::npos);
    return text.replace(at + kTask.size(), kNull.size(), TaskLine(dialogue.task));
  };
  return client.Ask(text_of, DialogueName(dialogue), take);
}

}  // namespace

absl::StatusOr<Reply> ProcessEnvironment::Step(const Dialogue& dialogue) {
  CHECK(client_ != nullptr);
  Reply reply;
  RETURN_IF_ERROR(Ask(*client_, MakeRequest(dialogue, "step"), dialogue, [&](const JsonValue& json) -> absl::Status {
    ASSIGN_OR_RETURN(reply, ReadStepReply(json));
    return absl::OkStatus();
  }));
  return reply;
}

absl::StatusOr<bool> ProcessEnvironment::IsToolCall(const Dialogue& dialogue) {
  CHECK(client_ != nullptr);
  bool is_call = false;
  RETURN_IF_ERROR(
      Ask(*client_, MakeRequest(dialogue, "is_tool_call"), dialogue, [&](const JsonValue& json) -> absl::Status {
        ASSIGN_OR_RETURN(is_call, ReadToolCallReply(json));
        return absl::OkStatus();
      }));
  return is_call;
}

absl::StatusOr<double> ScoreByProcess(ProcessClient& client, const Dialogue& dialogue, const std::string& text,
                                      bool terminated) {
  nlohmann::json request = MakeRequest(dialogue, "score");
  request["completion"] = text;
  request["terminated"] = terminated;
  double reward = 0;
  RETURN_IF_ERROR(Ask(client, std::move(request), dialogue, [&](const JsonValue& json) -> absl::Status {
    ASSIGN_OR_RETURN(reward, ReadScoreReply(json));
    return absl::OkStatus();
  }));
  return reward;
}

}  // namespace reprise::rl
