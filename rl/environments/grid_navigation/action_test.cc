#include "rl/environments/grid_navigation/action.h"

#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rapidcheck/gtest.h"

namespace reprise::rl::grid_navigation {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Action Answer(const std::string& letter) { return {.answer = letter, .done = true}; }

TEST(ParseActionTest, ReadsEveryMember) {
  ASSERT_OK_AND_ASSIGN(const Action action,
                       ParseAction(R"({"rotation_angle_degrees": -90, "forward_meters": 0.25, "left_meters": -0.5,
                                       "z_delta_meters": 0.1, "answer": "b", "done": true, "why": [1]})"));
  EXPECT_EQ(action, (Action{-90, 0.25, -0.5, 0.1, "b", true}));
}

TEST(ParseActionTest, NullIsTheSameAsAbsent) {
  ASSERT_OK_AND_ASSIGN(const Action action,
                       ParseAction(R"({"rotation_angle_degrees": 90, "forward_meters": 0, "left_meters": 0,
                                       "z_delta_meters": null, "answer": null, "done": null})"));
  EXPECT_EQ(action, (Action{90, 0, 0}));
  EXPECT_OK(FindAction(R"({"rotation_angle_degrees": 90, "forward_meters": 0, "left_meters": 0, "answer": null,
                           "done": false})",
                       4)
                .action.status());
}

TEST(ParseActionTest, RequiresTheThreeMovements) {
  EXPECT_THAT(ParseAction(R"({"rotation_angle_degrees": 0, "forward_meters": 0})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/left_meters is missing")));
  EXPECT_FALSE(ParseAction("rotate 90").ok());
  EXPECT_FALSE(ParseAction(R"({"rotation_angle_degrees": "90", "forward_meters": 0, "left_meters": 0})").ok());
  EXPECT_FALSE(ParseAction(R"({"rotation_angle_degrees": 9, "forward_meters": 0, "left_meters": 0, "done": 1})").ok());
}

RC_GTEST_PROP(ParseActionTest, IsTheInverseOfActionJson, ()) {
  Action action = {*rc::gen::inRange(-180, 181) * 1.0, *rc::gen::inRange(-50, 51) / 100.0,
                   *rc::gen::inRange(-50, 51) / 100.0, *rc::gen::inRange(-3, 4) / 10.0};
  if (*rc::gen::arbitrary<bool>()) action.answer = std::string(1, *rc::gen::inRange('A', 'K'));
  action.done = *rc::gen::arbitrary<bool>();
  RC_ASSERT(ParseAction(ActionJson(action)).value() == action);
}

TEST(ValidateActionTest, RangesIncludeTheirEnds) {
  EXPECT_OK(ValidateAction({720, 0.5, -0.5, 0.3}, 4));
  EXPECT_EQ(ValidateAction({0, 0.75, 0}, 4).message(), "forward_meters 0.75 out of range [-0.5, 0.5]");
  EXPECT_EQ(ValidateAction({0, 0, -0.625}, 4).message(), "left_meters -0.625 out of range [-0.5, 0.5]");
  EXPECT_EQ(ValidateAction({0, 0, 0, 0.5}, 4).message(), "z_delta_meters 0.5 out of range [-0.3, 0.3]");
}

TEST(ValidateActionTest, AnAnswerRequiresDoneAndDoneAnAnswer) {
  EXPECT_OK(ValidateAction(Answer("C"), 4));
  EXPECT_OK(ValidateAction(Answer("j"), 10));
  EXPECT_EQ(ValidateAction({.done = true}, 4).message(), "done=True but no answer provided");
  EXPECT_EQ(ValidateAction({.answer = "A"}, 4).message(), "answer provided but done=False");
  for (const char* answer : {"", "AB", "K", "1", "A ", "\xc3\xa4"}) {
    EXPECT_EQ(ValidateAction(Answer(answer), 10).message(), "Invalid answer format") << answer;
  }
}

TEST(ValidateActionTest, AnAnswerIsOneOfTheChoices) {
  EXPECT_OK(ValidateAction(Answer("d"), 4));
  EXPECT_EQ(ValidateAction(Answer("E"), 4).message(), "Invalid answer format");
  EXPECT_EQ(ValidateAction(Answer("J"), 4).message(), "Invalid answer format");
  EXPECT_OK(ValidateAction(Answer("E"), 5));
}

TEST(ChoiceOfTest, IsOneLetterOfOneOfTheChoices) {
  EXPECT_EQ(ParseChoice("A", 4), 0);
  EXPECT_EQ(ParseChoice("d", 4), 3);
  EXPECT_EQ(ParseChoice("E", 4), std::nullopt);
  EXPECT_EQ(ParseChoice("", 4), std::nullopt);
  EXPECT_EQ(ParseChoice("AB", 4), std::nullopt);
}

std::string First(absl::string_view text) {
  const auto span = FirstObject(text);
  return span ? std::string(text.substr(span->begin, span->end - span->begin)) : "none";
}

std::string Flat(absl::string_view text) {
  const auto span = FlatObjectWith(text, "key");
  return span ? std::string(text.substr(span->begin, span->end - span->begin)) : "none";
}

TEST(FirstObjectTest, EndsWhereItsBraceIsClosed) {
  EXPECT_EQ(First(R"(I go. {"a": {"b": 1}, "c": {}} then {})"), R"({"a": {"b": 1}, "c": {}})");
  EXPECT_EQ(First("{}"), "{}");  // opened and closed at once
}

TEST(FirstObjectTest, IgnoresBracesAndEscapedQuotesInStrings) {
  EXPECT_EQ(First(R"({"a": "}"} x)"), R"({"a": "}"})");
  EXPECT_EQ(First(R"({"a": "\"}"} x)"), R"({"a": "\"}"})");
  EXPECT_EQ(First(R"({"a": "\\"} x)"), R"({"a": "\\"})");
}

TEST(FirstObjectTest, NeedsBothBraces) {
  EXPECT_EQ(First("no braces"), "none");
  EXPECT_EQ(First("{ \"a\": 1"), "none");
  EXPECT_EQ(First("{\"}"), "none");
  EXPECT_EQ(First("} {"), "none");
  EXPECT_EQ(First("{\"\\"), "none");
}

RC_GTEST_PROP(FirstObjectTest, FindsEveryObjectThatAJsonLibraryWrites, (const std::string& text, int number)) {
  const nlohmann::json object = {{text, number}, {"inner", {{"text", text}}}};
  const std::string json = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  RC_ASSERT(First("so: " + json + " and {") == json);
}

TEST(FlatObjectTest, IsTheInnermostGroupAroundTheKey) {
  EXPECT_EQ(Flat(R"(if { then {"x": 1, "key": 2} done)"), R"({"x": 1, "key": 2})");
  EXPECT_EQ(Flat(R"({"key": {}} {"key": 3})"), R"({"key": 3})");
  EXPECT_EQ(Flat(R"("key" {"key")"), "none");
  EXPECT_EQ(Flat(R"({key: 1})"), "none");
}

}  // namespace
}  // namespace reprise::rl::grid_navigation
