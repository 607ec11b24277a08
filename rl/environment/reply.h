#ifndef RL_ENVIRONMENT_REPLY_H_
#define RL_ENVIRONMENT_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::rl {

// Stored in artifacts: do not change the values.
enum class ToolCall : uint8_t {
  kNone = 0,
  kExecuted = 1,
  kRefused = 2,  // beyond environment.max_tool_calls: the environment has not seen it, and passes over it afterwards
};

// What an environment says to an action.
struct Reply {
  std::string observation = "";  // what the policy reads before its next action; UTF-8
  double reward = 0;             // of the action, finite
  bool done = false;             // the episode is over, by its rules
  bool truncated = false;        // the episode is over, by a limit of the environment's own

  ToolCall tool_call = ToolCall::kNone;  // of the action
  // In place of an observation: a player writes them as one (rl/environment/features.h), and what is kept has none.
  std::vector<double> features = {};

  bool operator==(const Reply&) const = default;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_REPLY_H_
