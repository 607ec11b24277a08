#include "rl/workloads/quiet_star/thought_texts.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/config/quiet_star_check.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Config TestConfig() {
  Config config;
  config.data.task = "lookup";
  config.data.max_length = 2;
  config.data.alphabet_size = 3;
  config.sft.prompts_per_step = 10;
  return config;
}

struct World {
  explicit World(const Config& config)
      : tokenizer(*LoadTokenizer(config.model)),
        texts(*ThoughtTexts::Create(config, tokenizer, models::WithThinkingTokens(*ReadDecoderConfig(config.model)))) {}
  const models::Tokenizer tokenizer;
  const ThoughtTexts texts;
};

TEST(ThoughtTextsTest, FollowFromTheirPlacesAndHeldOutOnesAreOthers) {
  const World world(TestConfig());
  EXPECT_EQ(world.texts.At(Phase::kTraining, 3, 4), world.texts.At(Phase::kTraining, 3, 4));
  std::set<std::string> shown;
  for (int64_t prompt = 0; prompt < 3; ++prompt) {
    shown.insert(world.texts.Shown(world.texts.At(Phase::kTraining, 1, prompt).token_S));
    shown.insert(world.texts.Shown(world.texts.HeldOut(prompt).token_S));
  }
  EXPECT_GT(shown.size(), 4u);
  const ThoughtText text = world.texts.At(Phase::kTraining, 1, 0);
  EXPECT_EQ(text.answer_begin, static_cast<int64_t>(text.token_S.size()) - 1);
}

TEST(ThoughtTextsTest, TheSftRepeatsItsExamplesInAnotherOrder) {
  Config config = TestConfig();
  config.quiet_star.baking_examples = 20;
  const World world(config);
  std::multiset<std::string> first, second;
  std::string in_order, in_other_order;
  for (int64_t place = 0; place < 20; ++place) {
    const std::string a = world.texts.Shown(world.texts.At(Phase::kSft, 1 + place / 10, place % 10).token_S);
    const std::string b = world.texts.Shown(world.texts.At(Phase::kSft, 3 + place / 10, place % 10).token_S);
    first.insert(a), second.insert(b);
    in_order += a, in_other_order += b;
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(in_order, in_other_order);
}

TEST(ThoughtTextsTest, AThoughtOfTheSftWritesDownTheLettersOnTheWay) {
  Config config = TestConfig();
  config.data.min_length = 2;
  config.quiet_star.plain_share = 0;
  config.quiet_star.baking_examples = 0;
  const World world(config);
  const std::string shown = world.texts.Shown(world.texts.At(Phase::kSft, 1, 0).token_S);  // a chain of thought
  const size_t equals = shown.find('=');
  ASSERT_NE(equals, std::string::npos) << shown;
  EXPECT_EQ(shown.substr(equals, 15), "=<think><step>" + shown.substr(equals + 14, 1)) << shown;
  const char asked = shown[equals - 1], on_the_way = shown[equals + 14], answer = shown.back();
  EXPECT_NE(shown.find(std::string{asked, on_the_way}), std::string::npos) << shown;
  EXPECT_NE(shown.find(std::string{on_the_way, answer}), std::string::npos) << shown;
  EXPECT_EQ(shown.substr(equals + 15), std::string("</think>") + answer) << shown;
}

TEST(ThoughtTextsTest, WhatCountsIsTheTextOrItsAnswer) {
  Config config = TestConfig();
  config.quiet_star.plain_share = 1;
  const ThoughtText whole = World(config).texts.At(Phase::kTraining, 1, 0);
  config.quiet_star.counted = CountedTokens::kAnswer;
  const ThoughtText answer = World(config).texts.At(Phase::kTraining, 1, 0);
  EXPECT_EQ(whole.token_S, answer.token_S);
  for (size_t s = 0; s < whole.token_S.size(); ++s) {
    EXPECT_EQ(whole.counts_S[s], s > 0 ? 1 : 0) << s;
    EXPECT_EQ(answer.counts_S[s], static_cast<int64_t>(s) >= answer.answer_begin ? 1 : 0) << s;
  }
}

TEST(ThoughtTextsTest, PlainShareOfTheExamplesHasNoThought) {
  Config config = TestConfig();
  config.quiet_star.plain_share = 0.25;
  config.quiet_star.baking_examples = 0;
  const World world(config);
  int64_t plain = 0;
  for (int64_t prompt = 0; prompt < 2000; ++prompt) {
    const ThoughtText text = world.texts.At(Phase::kSft, 1 + prompt / 10, prompt % 10);
    plain += world.texts.Shown(text.token_S).find("<think>") == std::string::npos ? 1 : 0;
  }
  EXPECT_NEAR(plain, 500, 80);  // standard deviation 19
}

TEST(ThoughtTextsTest, ATextThatCannotBeEncodedIsRejected) {
  Config config = TestConfig();
  const models::Tokenizer tokenizer = *LoadTokenizer(config.model);
  models::DecoderConfig grown = models::WithThinkingTokens(*ReadDecoderConfig(config.model));
  grown.vocab_size = 20;  // below the tokens of letters
  EXPECT_THAT(ThoughtTexts::Create(config, tokenizer, grown),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data.task lookup")));
}

std::string DecodeQuestion(const World& world, const ThoughtText& text) {
  const std::string shown = world.texts.Shown(text.token_S);
  return shown.substr(0, shown.find('=') + 1);
}

// Cycle, steps and letter, without the order of the pairs.
std::string DescribeClass(const World& world, const ThoughtText& text) {
  return data::CanonicalProblem(data::TaskKind::kLookup, DecodeQuestion(world, text));
}

TEST(ThoughtTextsTest, WhatDecidesTheAnswerOfAHeldOutQuestionIsNeverTrainedOn) {
  Config config = TestConfig();
  config.evaluation.held_out_share = 0.5;
  config.quiet_star.baking_examples = 0;
  const World world(config);
  std::set<std::string> questions, held_out, trained;
  for (int64_t prompt = 0; prompt < 400; ++prompt) {
    for (const ThoughtText& text :
         {world.texts.At(Phase::kTraining, 1, prompt), world.texts.At(Phase::kSft, 1 + prompt / 10, prompt % 10)}) {
      questions.insert(DecodeQuestion(world, text));
      trained.insert(DescribeClass(world, text));
    }
    held_out.insert(DescribeClass(world, world.texts.HeldOut(prompt)));
  }
  // 2 cycles of three letters, 3 letters and 2 numbers of steps: 12 classes, and 6 orders of the pairs of each.
  EXPECT_EQ(held_out.size() + trained.size(), 12u);
  EXPECT_EQ(questions.size(), 6 * trained.size());
  EXPECT_GE(held_out.size(), 2u);
  for (const std::string& form : held_out) EXPECT_FALSE(trained.contains(form)) << form;
  EXPECT_THAT(world.texts.WarningOfEvaluations(), HasSubstr(" different problems are held out"));
}

TEST(ThoughtTextsTest, AShareThatLeavesTooFewQuestionsOnOneSideIsRejected) {
  for (const double share : {0.001, 0.999}) {
    Config config = TestConfig();
    config.evaluation.held_out_share = share;
    const models::Tokenizer tokenizer = *LoadTokenizer(config.model);
    EXPECT_THAT(ThoughtTexts::Create(config, tokenizer, models::WithThinkingTokens(*ReadDecoderConfig(config.model))),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("each side needs 10: ", share < 0.5 ? "raise" : "lower",
                                                " the share, or raise data.max_length or data.alphabet_size"))));
  }
}

TEST(ThoughtTextsTest, QuestionsThatTheTokenizerCannotTellApartCountAsOne) {
  Config config = TestConfig();
  config.evaluation.held_out_share = 0.5;
  config.rollout.max_prompt_length = 1;  // every question is read as "="
  const models::Tokenizer tokenizer = *LoadTokenizer(config.model);
  EXPECT_THAT(
      ThoughtTexts::Create(config, tokenizer, models::WithThinkingTokens(*ReadDecoderConfig(config.model))),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::AnyOf(HasSubstr("each side needs 10: raise the share"),
                                                                    HasSubstr("each side needs 10: lower the share"))));
}

TEST(ThoughtTextsTest, NoExampleOfTheSftIsLongerThanTheConfigurationExpects) {
  for (const char* task : {"lookup", "addition", "reverse"}) {
    for (const int64_t length : {1, 2, 7}) {
      Config config = TestConfig();
      config.data.task = task;
      config.data.min_length = config.data.max_length = length;
      config.quiet_star.plain_share = 0;
      config.quiet_star.baking_examples = 0;
      const World world(config);
      size_t longest = 0;
      for (int64_t prompt = 0; prompt < 1600; ++prompt) {
        longest = std::max(longest, world.texts.At(Phase::kSft, 1 + prompt / 10, prompt % 10).token_S.size());
      }
      EXPECT_EQ(static_cast<int64_t>(longest), LongestExample(config)) << task << " " << length;
    }
  }
}

}  // namespace
}  // namespace reprise::rl
