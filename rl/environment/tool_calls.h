#ifndef RL_ENVIRONMENT_TOOL_CALLS_H_
#define RL_ENVIRONMENT_TOOL_CALLS_H_

// How often an episode may call tools (environment.max_tool_calls). An action is a tool call if its environment says
// so. One beyond the cap is not executed: the policy is told so in place of an observation, and may go on otherwise.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

struct ToolCallRules {
  int64_t most = 0;     // of an episode; 0: calls are neither bounded nor counted
  std::string refusal;  // what the policy reads in place of an observation
};

// The calls of an episode that were executed. Pure.
int64_t NumExecutedCalls(const Dialogue& dialogue);

// The reply to the dialogue's last action under the rules: the environment's, or the refusal, with a reward of 0.
// Errors: the environment's; DataLoss, naming the episode, if it executes a call that it had said is none, or refuses one itself.
absl::StatusOr<Reply> StepWithinCap(Environment& environment, const ToolCallRules& rules, const Dialogue& dialogue);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_TOOL_CALLS_H_
