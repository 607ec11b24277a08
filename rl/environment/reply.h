#ifndef RL_ENVIRONMENT_REPLY_H_
#define RL_ENVIRONMENT_REPLY_H_

#include <string>

namespace reprise::rl {

// What an environment says to an action.
struct Reply {
  std::string observation = "";  // what the policy reads before its next action; UTF-8
  double reward = 0;             // of the action, finite
  bool done = false;             // the episode is over, by its rules
  bool truncated = false;        // the episode is over, by a limit of the environment's own

  bool operator==(const Reply&) const = default;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_REPLY_H_
