#ifndef RL_ENVIRONMENT_ENVIRONMENT_H_
#define RL_ENVIRONMENT_ENVIRONMENT_H_

// The interface that a policy interacts with, turn by turn. An environment gives a task and starts a session for each
// episode, which replies to each action with an observation, a reward, and whether the episode is over. Both sides are
// text; the player converts it to and from tokens (rl/environment/player.h).
// A reply is a function of only the task and all actions so far: a session's state follows from them, no clock is read,
// and randomness comes from core/random by the episode's place. So the result does not depend on the order in which
// episodes are played, and an episode can be replayed from its actions.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/random/draw.h"
#include "data/tasks/task.h"
#include "rl/environment/reply.h"

namespace reprise::rl {

// The place of a task. Where the environment makes its own tasks, the task is a pure function of it.
struct TaskPlace {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTask;
  uint64_t step = 0;
  uint64_t prompt = 0;  // within the step, over all ranks
  // Which draw at this place: later than the first where earlier draws are on the other side of the split
  // (evaluation.held_out_share).
  uint64_t attempt = 0;
};

// An episode so far.
struct Dialogue {
  TaskPlace place = {};
  uint64_t sample = 0;                    // within the prompt's group
  data::Task task = {};                   // its prompt is the first observation
  std::vector<std::string> actions = {};  // without the tokens or texts that ended them
  std::vector<Reply> replies = {};        // one per action, except for an action without a reply yet
  bool greedy = false;                    // in an evaluation: greedy decoding, not a sample
};

// The environment's side of one episode.
class Session {
 public:
  virtual ~Session() = default;

  // Returns the reply to the last action. Called for each action, in order, but for refused tool calls, to which the
  // dialogue has a reply. Errors come from external processes and name the episode.
  virtual absl::StatusOr<Reply> Step(const Dialogue& dialogue) = 0;

  // Returns whether the last action is a tool call. Called once environment.max_tool_calls calls were executed: if it
  // is, Step is not called for it, and later dialogues contain a reply to it whose tool_call is kRefused. Errors as
  // Step's.
  virtual absl::StatusOr<bool> IsToolCall(const Dialogue&) { return false; }
};

class Environment {
 public:
  virtual ~Environment() = default;

  // Returns the task at a place. Its prompt is the policy's first observation, the same for all episodes of its group.
  // nullopt where the environment makes no tasks: they then come from [data]. Pure.
  virtual std::optional<data::Task> TaskAt(const TaskPlace&) const { return std::nullopt; }

  // Returns the canonical form of a problem with this prompt, as the policy reads it: what of the prompt decides the
  // answer (rl/episodes/problem_form.h). By default all of it. Pure.
  virtual std::string CanonicalProblem(absl::string_view prompt) const { return std::string(prompt); }

  // Starts an episode: `start` has no actions yet. Thread-safe; sessions of different episodes step at the same time on
  // different threads.
  virtual std::unique_ptr<Session> Reset(const Dialogue& start) = 0;

  // Returns the next action of a demonstration, for the supervised fine-tuning, which shows the form of actions or
  // solves the task; nullopt at its end. By default, the demonstration is the task's answer. Pure.
  virtual std::optional<std::string> Demonstrate(const Dialogue& dialogue) const {
    if (!dialogue.actions.empty()) return std::nullopt;
    return dialogue.task.answer;
  }
};

// An environment that computes each reply from the whole dialogue, so that its sessions have no state and a process
// that dies can be replaced.
class StatelessEnvironment : public Environment {
 public:
  // As Session's; thread-safe.
  virtual absl::StatusOr<Reply> Step(const Dialogue& dialogue) = 0;
  virtual absl::StatusOr<bool> IsToolCall(const Dialogue&) { return false; }

  std::unique_ptr<Session> Reset(const Dialogue&) final;
};

// "prompt 3 sample 1 turn 2", in an evaluation "held-out problem 3 sample 1 turn 2" or "held-out problem 3 greedy turn
// 2": the episode's last action, for messages.
std::string DialogueName(const Dialogue& dialogue);

// Replaces an environment by its stored replies, so that it is not called again.
class StoredReplies : public StatelessEnvironment {
 public:
  // Behaviour where no reply is stored. With kEndsEpisode a later comparison reports the difference.
  enum class Lack { kIsError, kEndsEpisode };
  explicit StoredReplies(Lack lack = Lack::kIsError) : lack_(lack) {}

  void Add(int64_t prompt, int64_t sample, int64_t turn, Reply reply) {
    replies_[{prompt, sample, turn}] = std::move(reply);
  }

  // Where no reply is stored: DataLoss with kIsError, otherwise a truncated reply.
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;

  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override;

  // Returns the reward of a finished episode, stored as that of turn -1; 0 if none is stored.
  double Score(int64_t prompt, int64_t sample) const;

 private:
  Lack lack_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Reply> replies_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_ENVIRONMENT_H_
