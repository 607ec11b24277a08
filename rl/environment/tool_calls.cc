#include "rl/environment/tool_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::rl {

int64_t NumExecutedCalls(const Dialogue& dialogue) {
  return std::count_if(dialogue.replies.begin(), dialogue.replies.end(),
                       [](const Reply& reply) { return reply.tool_call == ToolCall::kExecuted; });
}

absl::StatusOr<Reply> StepWithinCap(Session& session, const ToolCallRules& rules, const Dialogue& dialogue) {
  const bool is_at_cap = rules.most > 0 && NumExecutedCalls(dialogue) >= rules.most;
  if (is_at_cap) {
    ASSIGN_OR_RETURN(const bool is_call, session.IsToolCall(dialogue));
    if (is_call) return Reply{.observation = rules.refusal, .tool_call = ToolCall::kRefused};
  }
  ASSIGN_OR_RETURN(Reply reply, session.Step(dialogue));
  if (reply.tool_call == ToolCall::kRefused) {
    return absl::DataLossError(
        absl::StrCat("the tool call of ", NameOf(dialogue), " was refused although max_tool_calls was not reached"));
  }
  if (rules.most == 0) reply.tool_call = ToolCall::kNone;
  if (is_at_cap && reply.tool_call != ToolCall::kNone) {
    return absl::DataLossError(absl::StrCat("the environment reports for ", NameOf(dialogue),
                                            " a tool call, although it had replied that the action is none"));
  }
  return reply;
}

}  // namespace reprise::rl
