#include "rl/environment/player.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/environments/number_guess/number_guess.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

models::Tokenizer Ascii() {
  return models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()).value();
}

std::vector<int32_t> Tokens(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<int32_t> Ended(const std::string& text) {
  std::vector<int32_t> tokens = Tokens(text);
  tokens.push_back(0);
  return tokens;
}

class Saying : public StatelessEnvironment {
 public:
  explicit Saying(Reply reply) : reply_(std::move(reply)) {}
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override {
    heard.push_back(dialogue.actions.back());
    return reply_;
  }
  std::vector<std::string> heard;

 private:
  const Reply reply_;
};

// Counts the actions of an episode, from a number that its place gives.
class Counting : public Environment {
 public:
  std::unique_ptr<Session> Reset(const Dialogue& start) override {
    return std::make_unique<Count>(static_cast<int>(10 * start.place.prompt + start.sample));
  }

 private:
  class Count : public Session {
   public:
    explicit Count(int count) : count_(count) {}
    absl::StatusOr<Reply> Step(const Dialogue&) override { return Reply{.observation = absl::StrCat(++count_)}; }

   private:
    int count_;
  };
};

TEST(PlayerTest, EveryEpisodeHasASessionWithStateOfItsOwn) {
  const models::Tokenizer tokenizer = Ascii();
  Counting environment;
  const TurnRules rules = {.max_turns = 9, .stops = {}, .end_tokens = {0}};
  Player player(environment, tokenizer, rules, {{.place = {.prompt = 2}}, {.place = {.prompt = 2}, .sample = 5}});
  for (const std::string count : {"21", "22"}) {
    ASSERT_OK_AND_ASSIGN(const auto answer, player.Answer(0, Ended("x"), true));
    EXPECT_EQ(answer, Tokens(count));
  }
  ASSERT_OK_AND_ASSIGN(const auto other, player.Answer(1, Ended("x"), true));
  EXPECT_EQ(other, Tokens("26"));
}

TEST(PlayerTest, TurnsAnActionIntoTextAndTheReplyIntoTokens) {
  const models::Tokenizer tokenizer = Ascii();
  NumberGuess environment(16);
  const TurnRules rules = {.max_turns = 5, .stops = {}, .end_tokens = {0}};
  Player player(environment, tokenizer, rules, {{.task = {.prompt = "", .answer = "9"}}});
  ASSERT_OK_AND_ASSIGN(const auto answer, player.Answer(0, Ended("8"), true));
  EXPECT_EQ(answer, Tokens("higher\n"));
  ASSERT_OK_AND_ASSIGN(const auto over, player.Answer(0, Ended("9"), true));
  EXPECT_EQ(over, std::nullopt);
  EXPECT_EQ(player.dialogue(0).actions, (std::vector<std::string>{"8", "9"}));
  EXPECT_EQ(player.dialogue(0).replies.back().reward, 1);
}

TEST(PlayerTest, EndsTheEpisodeAfterItsLastTurn) {
  const models::Tokenizer tokenizer = Ascii();
  NumberGuess environment(16);
  const TurnRules rules = {.max_turns = 2, .stops = {}, .end_tokens = {0}};
  Player player(environment, tokenizer, rules, {{.task = {.prompt = "", .answer = "9"}}});
  ASSERT_OK_AND_ASSIGN(const auto first, player.Answer(0, Ended("8"), true));
  EXPECT_TRUE(first.has_value());
  ASSERT_OK_AND_ASSIGN(const auto second, player.Answer(0, Ended("8"), true));
  EXPECT_FALSE(second.has_value());
  EXPECT_FALSE(player.dialogue(0).replies.back().done);
}

TEST(PlayerTest, HidesStopsAndTextAfterThemFromTheEnvironment) {
  const models::Tokenizer tokenizer = Ascii();
  Saying environment(Reply{.observation = "x"});
  const TurnRules rules = {.max_turns = 9, .stops = {"</a>", "\n"}, .end_tokens = {0}};
  Player player(environment, tokenizer, rules, {{}});
  EXPECT_FALSE(player.CompletesAction(Tokens("8</a")));
  EXPECT_TRUE(player.CompletesAction(Tokens("8</a>")));
  EXPECT_TRUE(player.CompletesAction(Tokens("8\n")));
  for (const std::string action : {"8</a>", "8\n", "8</a> and"})
    ASSERT_OK(player.Answer(0, Tokens(action), true).status());
  ASSERT_OK(player.Answer(0, Ended("8"), true).status());
  ASSERT_OK(player.Answer(0, Tokens("8 cut"), false).status());
  EXPECT_EQ(environment.heard, (std::vector<std::string>{"8", "8", "8", "8", "8 cut"}));
}

// Each of the two tokens of "\u00e9" alone decodes to U+FFFD, so that the stop would not be found.
TEST(PlayerTest, SplitsTheTextThatTheEnvironmentReadsByToken) {
  const models::Tokenizer tokenizer =
      models::Tokenizer::FromJson(models::AsciiTokenizerJson(256), models::AsciiTokenizerConfigJson()).value();
  const TurnRules rules = {.stops = {"\xc3\xa9!"}, .end_tokens = {0}};
  std::vector<int32_t> action;
  for (const char c : std::string("a\xc3\xa9{}\xff\xc3\xa9!{x}")) action.push_back(static_cast<uint8_t>(c));
  EXPECT_EQ(ActionText(tokenizer, rules, action), "a\xc3\xa9{}\xef\xbf\xbd");
  const std::vector<std::string> text_T = ActionTokenTexts(tokenizer, rules, action);
  EXPECT_EQ(text_T, (std::vector<std::string>{"a", "", "\xc3\xa9", "{", "}", "\xef\xbf\xbd", "", "", "", "", "", ""}));
}

TEST(PlayerTest, RejectsNonFiniteRewardsAndNamesTheEpisode) {
  const models::Tokenizer tokenizer = Ascii();
  const TurnRules rules = {.max_turns = 9, .stops = {}, .end_tokens = {0}};
  for (const double reward : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Saying environment(Reply{.observation = "x", .reward = reward});
    Player player(environment, tokenizer, rules, {{.place = {.prompt = 3}, .sample = 1}});
    EXPECT_THAT(player.Answer(0, Ended("8"), true),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 3 sample 1 turn 0 is ")));
  }
}

TEST(PlayerTest, WritesFeaturesOnceAndKeepsTheText) {
  const models::Tokenizer tokenizer = Ascii();
  const TurnRules rules = {.max_turns = 9, .stops = {}, .end_tokens = {0}, .feature_bins = 16};
  Saying environment(Reply{.features = {0, 1, -1}});
  Player player(environment, tokenizer, rules, {{}});
  ASSERT_OK_AND_ASSIGN(const auto tokens, player.Answer(0, Ended("8"), true));
  EXPECT_EQ(tokens, Tokens("8 11 4\n"));
  EXPECT_EQ(player.dialogue(0).replies[0], (Reply{.observation = "8 11 4\n"}));
}

TEST(PlayerTest, RejectsNonFiniteFeaturesAndNamesTheEpisode) {
  const models::Tokenizer tokenizer = Ascii();
  const TurnRules rules = {.max_turns = 9, .stops = {}, .end_tokens = {0}};
  Saying environment(Reply{.features = {0, std::nan("")}});
  Player player(environment, tokenizer, rules, {{.place = {.prompt = 3}, .sample = 1}});
  EXPECT_THAT(
      player.Answer(0, Ended("8"), true),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prompt 3 sample 1 turn 0 is invalid: feature 1 is nan")));
}

TEST(PlayerTest, RejectsObservationsThatTheTokenizerCannotEncode) {
  const models::Tokenizer tokenizer = Ascii();
  const TurnRules rules = {.max_turns = 9, .stops = {}, .end_tokens = {0}};
  Saying environment(Reply{.observation = "\xff\xfe"});
  Player player(environment, tokenizer, rules, {{.place = {.prompt = 3}, .sample = 1}});
  EXPECT_THAT(
      player.Answer(0, Ended("8"), true),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("observation for prompt 3 sample 1 turn 0 cannot be read")));
}

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
