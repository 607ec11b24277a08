#ifndef RL_ENVIRONMENTS_GRID_NAVIGATION_GRID_NAVIGATION_H_
#define RL_ENVIRONMENTS_GRID_NAVIGATION_GRID_NAVIGATION_H_

// A room that the agent can look around in, and a question about it:
//   "what is left? A ball B cup C hat D key\nsee cup 1.0\n"
//   {"rotation_angle_degrees":90,"forward_meters":0,"left_meters":0}       "see hat 1.0\n"
//   {"rotation_angle_degrees":0,"forward_meters":0,"left_meters":0,"answer":"C","done":true}       reward 1
// An action is the object of FindAction; text around it is ignored. An invalid action ends the episode, as does an
// answer; the observation before the last action ends with " last". Actions that move are tool calls; one beyond
// environment.max_tool_calls does not move the agent. Demonstrations look in the direction of the question, and then
// answer with one of the two objects that they have seen: they show how to look and the form of an answer, but not
// which object is correct.

#include "rl/environment/environment.h"
#include "rl/environments/grid_navigation/scene.h"

namespace reprise::rl {

class GridNavigation : public StatelessEnvironment {
 public:
  // kinds: of objects, which are the choices (4 to 10). max_turns: actions of an episode, at least 1. feature_bins:
  // observations are features in that many bins; 0: they are text.
  GridNavigation(int64_t kinds, int64_t max_turns, int64_t feature_bins = 0)
      : kinds_(kinds), max_turns_(max_turns), feature_bins_(feature_bins) {}

  // The task's answer is the scene's AnswerText.
  std::optional<data::Task> TaskAt(const TaskPlace& place) const override;
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;
  // True for every valid action without an answer.
  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override;
  std::optional<std::string> Demonstrate(const Dialogue& dialogue) const override;

 private:
  const int64_t kinds_, max_turns_, feature_bins_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_GRID_NAVIGATION_GRID_NAVIGATION_H_
