#include "rl/environments/grid_navigation/action_mask.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "rl/environments/grid_navigation/action.h"

namespace reprise::rl::grid_navigation {
namespace {

// One token for each `size` bytes.
std::vector<std::string> Tokens(const std::string& text, size_t size = 1) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size(); at += size) tokens.push_back(text.substr(at, size));
  return tokens;
}

const char kAction[] = R"({"rotation_angle_degrees":90,"forward_meters":0,"left_meters":0})";

TEST(ActionMaskTest, MasksReasoningButNotTheActionsObject) {
  const std::string text = std::string("I turn. ") + kAction + "\n";
  const ActionMask mask = MaskAction(Tokens(text), 4);
  EXPECT_EQ(mask, (ActionMask{MaskMethod::kJson, 1.0, true, true, 8, 8 + static_cast<int64_t>(sizeof(kAction)) - 1}));
}

TEST(ActionMaskTest, ATokenWithABraceAndOtherTextBelongsToTheAction) {
  const ActionMask mask = MaskAction(Tokens(std::string("ab") + kAction + "x", 3), 4);
  EXPECT_EQ(mask.begin, 0);
  EXPECT_EQ(mask.end, 22);  // 2 + 64 bytes
}

TEST(ActionMaskTest, FindsAnObjectWithinOneToken) {
  const ActionMask mask = MaskAction({"{\"a\":1}", " and no more"}, 4, {.min_tokens = 1});
  EXPECT_EQ(mask, (ActionMask{MaskMethod::kJson, 1.0, true, false, 0, 1}));
}

TEST(ActionMaskTest, FallsBackToThePatternIfTheFirstObjectIsNotAnAction) {
  const ActionMask after_short = MaskAction(Tokens(std::string("{} ") + kAction), 4);
  EXPECT_EQ(after_short.method, MaskMethod::kPattern);
  EXPECT_EQ(after_short.confidence, 0.7);
  EXPECT_EQ(after_short.begin, 3);
  const ActionMask unclosed = MaskAction(Tokens(std::string("a { b ") + kAction), 4);
  EXPECT_EQ(unclosed.method, MaskMethod::kPattern);
  EXPECT_EQ(unclosed.begin, 6);
  EXPECT_EQ(MaskAction(Tokens(kAction), 4, {.max_tokens = 20}).method, MaskMethod::kPattern);
}

// The environment executes neither an object of plausible size before the action nor one within it.
TEST(ActionMaskTest, IsThatOfTheExecutedObject) {
  const auto masked = [](const std::string& text, const ActionTokenRange& range = {}) {
    const ActionMask mask = MaskAction(Tokens(text), 4, range);
    return text.substr(static_cast<size_t>(mask.begin), static_cast<size_t>(mask.num_tokens()));
  };
  const std::string plan = R"({"plan":"look to the left, then answer"})";
  EXPECT_EQ(masked(plan + " " + kAction), kAction);
  EXPECT_EQ(masked(kAction + plan), kAction);
  const std::string far = R"({"rotation_angle_degrees":90,"forward_meters":9,"left_meters":0})";
  EXPECT_EQ(masked(far + kAction), far);  // rejected: the second object is only reasoning
  EXPECT_EQ(masked(plan + far), far);
  const std::string nested = R"({"why":{"rotation_angle_degrees":1},"rotation_angle_degrees":90,"forward_meters":0,)"
                             R"("left_meters":0})";
  EXPECT_EQ(masked(nested), nested);
  EXPECT_EQ(masked(nested, {.max_tokens = 20}), nested);
}

TEST(ActionMaskTest, AnObjectThatIsNeitherAnActionNorOfPlausibleSizeDoesNotCount) {
  const ActionMask mask = MaskAction(Tokens("{} and nothing that could be done"), 4);
  EXPECT_EQ(mask.method, MaskMethod::kLast);
  EXPECT_FALSE(mask.valid);
}

TEST(ActionMaskTest, WithoutAnObjectTheActionIsTheLastTokens) {
  const auto words = [](size_t count) { return std::vector<std::string>(count, "w"); };
  EXPECT_EQ(MaskAction(words(19), 4), ActionMask());
  EXPECT_EQ(MaskAction(words(20), 4), (ActionMask{MaskMethod::kLast, 0.3, false, false, 5, 20}));
  EXPECT_EQ(MaskAction(words(49), 4), (ActionMask{MaskMethod::kLast, 0.3, false, false, 34, 49}));  // 14 < 15
  EXPECT_EQ(MaskAction(words(100), 4), (ActionMask{MaskMethod::kLast, 0.3, false, false, 70, 100}));
  EXPECT_EQ(MaskAction({}, 4), ActionMask());
}

TEST(ActionMaskTest, MethodsHaveNames) {
  EXPECT_EQ(MaskMethodName(MaskMethod::kJson), "json");
  EXPECT_EQ(MaskMethodName(MaskMethod::kPattern), "pattern");
  EXPECT_EQ(MaskMethodName(MaskMethod::kLast), "last");
  EXPECT_EQ(MaskMethodName(MaskMethod::kFailed), "failed");
}

// For every tokenisation, the action's tokens contain the object, and no other token has a byte of it.
RC_GTEST_PROP(ActionMaskTest, CoversTheObjectForAnyTokens, (const std::string& before)) {
  std::string reasoning;
  for (const char c : before) reasoning += c == '{' || c == '}' ? ' ' : c;
  const std::string json = ActionJson({.rotation_angle_degrees = 45.0, .answer = "B", .done = true});
  const std::vector<std::string> tokens = Tokens(reasoning + json + "<eos>", *rc::gen::inRange<size_t>(1, 8));
  const ActionMask mask = MaskAction(tokens, 4, {.min_tokens = 1});
  RC_ASSERT(mask.method == MaskMethod::kJson);
  std::string masked;
  for (int64_t t = mask.begin; t < mask.end; ++t) masked += tokens[t];
  RC_ASSERT(masked.find(json) != std::string::npos);
  RC_ASSERT(masked.find(json) < tokens[0].size());
}

}  // namespace
}  // namespace reprise::rl::grid_navigation
