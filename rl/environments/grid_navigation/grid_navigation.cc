#include "rl/environments/grid_navigation/grid_navigation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/environment/features.h"
#include "rl/environments/grid_navigation/action.h"
#include "rl/environments/grid_navigation/pose.h"

namespace reprise::rl {

using grid_navigation::Action;
using grid_navigation::Pose;
using grid_navigation::Scene;
using grid_navigation::Side;

std::optional<data::Task> GridNavigation::TaskAt(const TaskPlace& place) const {
  const Scene scene =
      grid_navigation::DrawScene(place.seed, place.purpose, place.step, place.prompt, kinds_, place.attempt);
  const bool is_final_step = max_turns_ == 1;
  std::string seen = ObservationText(scene, {}, is_final_step);
  if (feature_bins_ > 0) {
    absl::StatusOr<std::string> features = FeatureText(ObservationFeatures(scene, {}, is_final_step), feature_bins_);
    CHECK(features.ok());
    seen = *std::move(features);
  }
  return data::Task{.prompt = QuestionText(scene) + seen, .answer = AnswerText(scene)};
}

absl::StatusOr<Reply> GridNavigation::Step(const Dialogue& dialogue) {
  const std::optional<Scene> scene = grid_navigation::SceneOfAnswer(dialogue.task.answer, kinds_);
  if (!scene) {
    return absl::DataLossError(absl::StrCat(DialogueName(dialogue), ": \"", dialogue.task.answer,
                                            "\" does not describe a room of grid_navigation"));
  }
  Pose pose;
  Action last;
  for (size_t k = 0; k < dialogue.actions.size(); ++k) {
    if (k < dialogue.replies.size() && dialogue.replies[k].tool_call == ToolCall::kRefused) continue;
    const absl::StatusOr<Action> action = grid_navigation::FindAction(dialogue.actions[k], kinds_).action;
    if (!action.ok()) return Reply{.observation = "invalid\n", .done = true};
    last = *action;
    pose = Move(pose, last);
  }
  if (last.done) {
    const bool is_right = grid_navigation::ParseChoice(*last.answer, kinds_) == scene->answer();
    return Reply{.observation = is_right ? "right\n" : "wrong\n", .reward = is_right ? 1.0 : 0.0, .done = true};
  }
  const bool is_final_step = static_cast<int64_t>(dialogue.actions.size()) >= max_turns_ - 1;
  Reply reply = {.tool_call = ToolCall::kExecuted};
  if (feature_bins_ > 0) {
    reply.features = ObservationFeatures(*scene, pose, is_final_step);
  } else {
    reply.observation = ObservationText(*scene, pose, is_final_step);
  }
  return reply;
}

absl::StatusOr<bool> GridNavigation::IsToolCall(const Dialogue& dialogue) {
  const absl::StatusOr<Action> action = grid_navigation::FindAction(dialogue.actions.back(), kinds_).action;
  return action.ok() && !action->done;
}

std::optional<std::string> GridNavigation::Demonstrate(const Dialogue& dialogue) const {
  const std::optional<Scene> scene = grid_navigation::SceneOfAnswer(dialogue.task.answer, kinds_);
  CHECK(scene.has_value());
  const bool answers = dialogue.actions.size() == 1 || max_turns_ == 1;
  if (dialogue.actions.size() > 1 || (answers && !dialogue.replies.empty() && dialogue.replies.back().done)) {
    return std::nullopt;
  }
  if (!answers) {
    const double side = scene->asked == Side::kRight ? -1.0 : static_cast<double>(scene->asked);
    return grid_navigation::ActionJson({.rotation_angle_degrees = 90.0 * side});
  }
  const DrawAt at = {.step = dialogue.place.step, .prompt = dialogue.place.prompt, .sample = dialogue.sample};
  const bool takes_the_first = DrawBelow(dialogue.place.seed, Purpose::kEnvironment, at, 2) == 0;
  const int64_t choice = takes_the_first ? scene->objects[0].kind : scene->answer();
  return grid_navigation::ActionJson({.answer = std::string(1, static_cast<char>('A' + choice)), .done = true});
}

}  // namespace reprise::rl
