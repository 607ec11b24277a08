#include "models/tokenizer/pre_tokenizer.h"

#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Words(const PreTokenizer& pre_tokenizer, const std::string& text) {
  int64_t steps = kStepsOfText;
  const absl::StatusOr<std::vector<std::string>> words = PreTokenize(pre_tokenizer, text, &steps);
  EXPECT_OK(words);
  return *words;
}

SplitStep Step(absl::string_view pattern, SplitBehavior behavior = SplitBehavior::kIsolated, bool invert = false) {
  return {*Pattern::Compile(pattern), behavior, invert};
}

PreTokenizer Only(SplitStep step) { return {.steps = {std::move(step)}}; }

TEST(PreTokenizerTest, TheGpt2PatternKeepsOneSpaceBeforeAWord) {
  const PreTokenizer gpt2 = {.steps = {ByteLevelStep{.words = Step(kGpt2Pattern)}}};
  EXPECT_THAT(Words(gpt2, "Hello  world's 42!?\n\n x"),
              ElementsAre("Hello", " ", " world", "'s", " 42", "!?", "\n\n", " x"));
  EXPECT_THAT(Words(gpt2, "I'LL don't  "), ElementsAre("I", "'", "LL", " don", "'t", "  "));
  EXPECT_THAT(Words(gpt2, ""), ElementsAre());
}

TEST(PreTokenizerTest, WithoutAPatternTheTextIsOneWord) { EXPECT_THAT(Words({}, "a b"), ElementsAre("a b")); }

TEST(PreTokenizerTest, EachBehaviorTreatsDelimitersItsWay) {
  const std::string text = "the-final--countdown";
  EXPECT_THAT(Words(Only(Step("-", SplitBehavior::kRemoved)), text), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(Words(Only(Step("-", SplitBehavior::kIsolated)), text),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(Words(Only(Step("-", SplitBehavior::kMergedWithPrevious)), text),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(Words(Only(Step("-", SplitBehavior::kMergedWithNext)), text),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(Words(Only(Step("-", SplitBehavior::kContiguous)), text),
              ElementsAre("the", "-", "final", "--", "countdown"));
}

TEST(PreTokenizerTest, InvertedTheDelimitersAreBetweenTheMatches) {
  EXPECT_THAT(Words(Only(Step("\\d", SplitBehavior::kRemoved, true)), "a12b"), ElementsAre("1", "2"));
  EXPECT_THAT(Words(Only(Step("\\d", SplitBehavior::kMergedWithPrevious, true)), "1ab2c"), ElementsAre("1ab", "2c"));
  EXPECT_THAT(Words(Only(Step("\\d", SplitBehavior::kIsolated, true)), "a12b"), ElementsAre("a", "1", "2", "b"));
}

TEST(PreTokenizerTest, EmptyMatchesSplitWithoutAWordOfTheirOwn) {
  EXPECT_THAT(Words(Only(Step("(?<=[a-z])(?=[A-Z])")), "camelCaseX"), ElementsAre("camel", "Case", "X"));
  EXPECT_THAT(Words(Only(Step("")), "a\u00e9"), ElementsAre("a", "\u00e9"));
}

TEST(PreTokenizerTest, StepsFollowEachOtherAndThePrefixSpaceComesBeforeByteLevelsWords) {
  const PreTokenizer both = {.steps = {Step("\\d"), Step("-"), ByteLevelStep{true, Step(kGpt2Pattern)}}};
  EXPECT_THAT(Words(both, "1- a!"), ElementsAre(" 1", " -", " a", "!"));
}

TEST(PreTokenizerTest, AfterByteLevelStepsSeeTheCharactersThatStandForBytes) {
  // U+00E9 has the bytes C3 A9, for which U+00C3 and U+00A9 stand; for a space U+0120.
  const PreTokenizer after = {.steps = {ByteLevelStep{}, Step("\u00c3|\u0120")}};
  EXPECT_THAT(Words(after, "a \u00e9"), ElementsAre("a", " ", "\xc3", "\xa9"));
}

}  // namespace
}  // namespace reprise::models
