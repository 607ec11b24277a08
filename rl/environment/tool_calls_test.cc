#include "rl/environment/tool_calls.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// Actions that begin with "call" are tool calls; the reply to any other is "done".
class Caller : public StatelessEnvironment {
 public:
  explicit Caller(bool is_honest = true) : is_honest_(is_honest) {}
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override {
    ++steps;
    const bool is_call = dialogue.actions.back().starts_with("call");
    return Reply{.observation = is_call ? "called" : "done",
                 .reward = 1,
                 .done = !is_call,
                 .tool_call = is_call ? ToolCall::kExecuted : ToolCall::kNone};
  }
  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override {
    return is_honest_ && dialogue.actions.back().starts_with("call");
  }
  int steps = 0;

 private:
  const bool is_honest_;
};

absl::StatusOr<Dialogue> Play(Environment& environment, const ToolCallRules& rules,
                              const std::vector<std::string>& actions) {
  Dialogue dialogue;
  const std::unique_ptr<Session> session = environment.Reset(dialogue);
  for (const std::string& action : actions) {
    dialogue.actions.push_back(action);
    const absl::StatusOr<Reply> reply = StepWithinCap(*session, rules, dialogue);
    if (!reply.ok()) return reply.status();
    dialogue.replies.push_back(*reply);
  }
  return dialogue;
}

TEST(ToolCallsTest, BeyondTheCapAreReportedToThePolicyAndNotExecuted) {
  Caller environment;
  ASSERT_OK_AND_ASSIGN(const Dialogue played, Play(environment, {2, "no more\n"}, {"call", "call", "call", "answer"}));
  EXPECT_EQ(environment.steps, 3);
  EXPECT_EQ(NumExecutedCalls(played), 2);
  EXPECT_EQ(played.replies[1].tool_call, ToolCall::kExecuted);
  EXPECT_EQ(played.replies[2], (Reply{.observation = "no more\n", .tool_call = ToolCall::kRefused}));
  EXPECT_TRUE(played.replies[3].done);
  EXPECT_EQ(played.replies[3].tool_call, ToolCall::kNone);
}

TEST(ToolCallsTest, WithoutACapAreNotCounted) {
  Caller environment;
  ASSERT_OK_AND_ASSIGN(const Dialogue played, Play(environment, {}, {"call", "call", "call"}));
  EXPECT_EQ(environment.steps, 3);
  for (const Reply& reply : played.replies) EXPECT_EQ(reply.tool_call, ToolCall::kNone);
}

TEST(ToolCallsTest, ThatTheEnvironmentHadDeniedAreAnError) {
  Caller environment(/*is_honest=*/false);
  EXPECT_THAT(Play(environment, {1, "no"}, {"call", "call"}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 0 sample 0 turn 1 a tool call")));
}

// Returns a reply that no environment gives, but that an edited file may contain.
class Refuser : public StatelessEnvironment {
 public:
  absl::StatusOr<Reply> Step(const Dialogue&) override { return Reply{.tool_call = ToolCall::kRefused}; }
};

TEST(ToolCallsTest, ThatAreRefusedBelowTheCapAreAnError) {
  Refuser environment;
  EXPECT_THAT(Play(environment, {2, "no"}, {"call"}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 0 sample 0 turn 0 was refused although")));
}

}  // namespace
}  // namespace reprise::rl
