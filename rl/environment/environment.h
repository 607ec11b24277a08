#ifndef RL_ENVIRONMENT_ENVIRONMENT_H_
#define RL_ENVIRONMENT_ENVIRONMENT_H_

// What a policy talks with, turn by turn. An environment shows a task, then answers actions: with an observation, a
// reward, and whether the episode is over. It is text on both sides; what becomes of it as tokens is the player's
// business (rl/environment/player.h).
//
// An answer is a function of the task and of all actions so far, and of nothing else: no state is kept from turn to
// turn, no clock is read, chance comes from core/random by the episode's place. So the order in which episodes are
// played cannot matter, an episode can be played again from its actions, and a process that dies can be replaced.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/random/draw.h"
#include "data/tasks/task.h"
#include "rl/environment/reply.h"

namespace reprise::rl {

// Where a task stands: a pure function of it where the environment makes its own tasks.
struct TaskPlace {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTask;
  uint64_t step = 0;
  uint64_t prompt = 0;  // within the step, over all ranks
  // The place's draw: a later one where earlier ones are on the other side of the split (evaluation.held_out_share).
  uint64_t attempt = 0;
};

// An episode so far.
struct Dialogue {
  TaskPlace place = {};
  uint64_t sample = 0;                    // within the prompt's group
  data::Task task = {};                   // its prompt is the first observation
  std::vector<std::string> actions = {};  // without the tokens or texts that ended them
  std::vector<Reply> replies = {};        // one an action, but for an action that is still to be answered
  bool greedy = false;                    // of an evaluation: the most probable answer, not a sample
};

class Environment {
 public:
  virtual ~Environment() = default;

  // Reset: the task at a place. Its prompt is what the policy sees first, the same for all episodes of its group. None
  // where the environment makes no tasks: they are then those of [data]. Pure.
  virtual std::optional<data::Task> TaskAt(const TaskPlace&) const { return std::nullopt; }

  // Step: the answer to the last action. Thread-safe. Errors are those of environments outside of this program; they
  // name the episode.
  virtual absl::StatusOr<Reply> Step(const Dialogue& dialogue) = 0;

  // Whether the last action is a tool call, asked of one beyond environment.max_tool_calls: Step is then not called for
  // it, and Step's later dialogues have a reply to it whose tool_call is kRefused. Errors as Step's.
  virtual absl::StatusOr<bool> IsToolCall(const Dialogue&) { return false; }

  // The next action of a demonstration, for the supervised warm-up: it shows the form of actions, or solves the task.
  // None: it is over. Unless overridden, the task's answer and nothing else. Pure.
  virtual std::optional<std::string> Demonstrate(const Dialogue& dialogue) const {
    if (!dialogue.actions.empty()) return std::nullopt;
    return dialogue.task.answer;
  }
};

// "prompt 3 sample 1 turn 2", in an evaluation "held-out problem 3 sample 1 turn 2" or "held-out problem 3 greedy turn
// 2": the episode's last action, for messages.
std::string NameOf(const Dialogue& dialogue);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_ENVIRONMENT_H_
