#include "rl/environments/grid_navigation/grid_navigation.h"

#include <map>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/environments/grid_navigation/action.h"

namespace reprise::rl {
namespace {

constexpr char kLookLeft[] = R"({"rotation_angle_degrees":90,"forward_meters":0,"left_meters":0})";

// The hat is on the left, and is the correct answer.
Dialogue InTheRoom() { return {.task = {.prompt = "", .answer = "C: ball hat cup key"}}; }

std::string AnswerWith(const std::string& letter) {
  return R"({"rotation_angle_degrees":0,"forward_meters":0,"left_meters":0,"answer":")" + letter + R"(","done":true})";
}

Reply Say(GridNavigation& environment, Dialogue* dialogue, const std::string& action) {
  dialogue->actions.push_back(action);
  const absl::StatusOr<Reply> reply = environment.Step(*dialogue);
  EXPECT_OK(reply.status());
  dialogue->replies.push_back(*reply);
  return *reply;
}

TEST(GridNavigationTest, ObservesTheDirectionAndRewardsTheCorrectAnswer) {
  GridNavigation environment(4, 3);
  Dialogue dialogue = InTheRoom();
  EXPECT_EQ(Say(environment, &dialogue, kLookLeft),
            (Reply{.observation = "see hat 1.0\n", .tool_call = ToolCall::kExecuted}));
  EXPECT_EQ(Say(environment, &dialogue, "It was a hat, so " + AnswerWith("c")),
            (Reply{.observation = "right\n", .reward = 1, .done = true}));
}

TEST(GridNavigationTest, AWrongAnswerEndsWithoutReward) {
  GridNavigation environment(4, 3);
  Dialogue dialogue = InTheRoom();
  EXPECT_EQ(Say(environment, &dialogue, AnswerWith("A")), (Reply{.observation = "wrong\n", .done = true}));
}

TEST(GridNavigationTest, AnInvalidActionEndsTheEpisode) {
  GridNavigation environment(4, 3);
  for (const std::string& action :
       {std::string("look left"), std::string("{"), AnswerWith("AB"), AnswerWith(""), AnswerWith("J"),
        std::string(R"({"rotation_angle_degrees":0,"forward_meters":2,"left_meters":0})")}) {
    Dialogue dialogue = InTheRoom();
    EXPECT_EQ(Say(environment, &dialogue, action), (Reply{.observation = "invalid\n", .done = true})) << action;
  }
}

TEST(GridNavigationTest, TheLastObservationEndsWithLast) {
  GridNavigation environment(4, 3);
  Dialogue dialogue = InTheRoom();
  EXPECT_EQ(Say(environment, &dialogue, kLookLeft).observation, "see hat 1.0\n");
  EXPECT_EQ(Say(environment, &dialogue, kLookLeft).observation, "see cup 1.0 last\n");
  EXPECT_EQ(GridNavigation(4, 1).TaskAt({})->prompt.substr(0, 8), "what is ");
}

TEST(GridNavigationTest, ARefusedMovementDoesNotMoveTheAgent) {
  GridNavigation environment(4, 5);
  Dialogue dialogue = InTheRoom();
  dialogue.actions = {kLookLeft};
  ASSERT_OK_AND_ASSIGN(const bool is_call, environment.IsToolCall(dialogue));
  EXPECT_TRUE(is_call);
  dialogue.replies = {{.observation = "no\n", .tool_call = ToolCall::kRefused}};
  EXPECT_EQ(Say(environment, &dialogue, kLookLeft).observation, "see hat 1.0\n") << "not behind, where the cup is";
  for (const std::string& action : {AnswerWith("C"), std::string("nothing")}) {
    dialogue.actions.push_back(action);
    ASSERT_OK_AND_ASSIGN(const bool is_answer_a_call, environment.IsToolCall(dialogue));
    EXPECT_FALSE(is_answer_a_call) << action;
  }
}

TEST(GridNavigationTest, ObservationsMayBeFeatures) {
  GridNavigation environment(4, 3, 16);
  Dialogue dialogue = InTheRoom();
  const std::vector<double> left = {0, 0, 0, 90, 0, -1, -1, 1, -1}, right = {0, 0, 0, -90, 1, -1, -1, -1, 1};
  EXPECT_EQ(Say(environment, &dialogue, kLookLeft).features, left);
  EXPECT_EQ(
      Say(environment, &dialogue, R"({"rotation_angle_degrees":180,"forward_meters":0,"left_meters":0})").features,
      right);
  const std::string prompt = environment.TaskAt({})->prompt;
  EXPECT_EQ(prompt.substr(prompt.find('\n') + 1, 10), "8 8 8 8 8 ");
}

TEST(GridNavigationTest, SkipsAnObjectInReasoningBeforeTheAction) {
  EXPECT_OK(grid_navigation::FindAction(std::string("{\"plan\": 1} then ") + kLookLeft, 4).action.status());
  EXPECT_FALSE(grid_navigation::FindAction("{\"plan\": 1}", 4).action.ok());
}

TEST(GridNavigationTest, DemonstrationsLookInTheQuestionsDirectionAndAnswerWithASeenObject) {
  GridNavigation environment(4, 3);
  std::map<std::string, int> answers;
  int right = 0;
  for (uint64_t prompt = 0; prompt < 400; ++prompt) {
    Dialogue dialogue = {.place = {.seed = 3, .purpose = Purpose::kSftTask, .step = 1, .prompt = prompt}};
    dialogue.task = *environment.TaskAt(dialogue.place);
    const std::string look = *environment.Demonstrate(dialogue);
    const std::string seen = Say(environment, &dialogue, look).observation;
    const std::string kind = seen.substr(4, seen.find(' ', 4) - 4);
    EXPECT_NE(dialogue.task.prompt.find(std::string(1, dialogue.task.answer[0]) + " " + kind), std::string::npos);
    const Reply end = Say(environment, &dialogue, *environment.Demonstrate(dialogue));
    EXPECT_TRUE(end.done);
    right += end.reward > 0 ? 1 : 0;
    ++answers[dialogue.actions.back()];
    EXPECT_EQ(environment.Demonstrate(dialogue), std::nullopt);
  }
  EXPECT_EQ(answers.size(), 4u);
  EXPECT_NEAR(right, 200, 40);
}

TEST(GridNavigationTest, RejectsTasksOfOtherEnvironments) {
  GridNavigation environment(4, 3);
  EXPECT_FALSE(environment.Step({.task = {.prompt = "1+1=", .answer = "2"}, .actions = {kLookLeft}}).ok());
}

}  // namespace
}  // namespace reprise::rl
