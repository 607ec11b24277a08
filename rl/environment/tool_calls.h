#ifndef RL_ENVIRONMENT_TOOL_CALLS_H_
#define RL_ENVIRONMENT_TOOL_CALLS_H_

// Limits the tool calls of an episode (environment.max_tool_calls). The environment decides whether an action is a tool
// call. A call beyond the cap is not executed: the policy reads the refusal instead of an observation, and the episode
// continues.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

struct ToolCallRules {
  int64_t most = 0;     // per episode; 0: calls are neither limited nor counted
  std::string refusal;  // the policy reads it instead of an observation
};

// Returns the number of executed calls of an episode. Pure.
int64_t NumExecutedCalls(const Dialogue& dialogue);

// Returns the reply to the dialogue's last action under the rules: the environment's, or the refusal with reward 0.
// Errors: the environment's; DataLoss, naming the episode, if it executes a call after IsToolCall returned false, or
// returns kRefused itself.
absl::StatusOr<Reply> StepWithinCap(Session& session, const ToolCallRules& rules, const Dialogue& dialogue);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_TOOL_CALLS_H_
