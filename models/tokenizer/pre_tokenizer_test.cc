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
  const absl::StatusOr<std::vector<std::string>> words = PreTokenize(pre_tokenizer, text, /*is_first=*/true, &steps);
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
              ElementsAre("Hello", "\u0120", "\u0120world", "'s", "\u012042", "!?", "\u010a\u010a", "\u0120x"));
  EXPECT_THAT(Words(gpt2, "I'LL don't  "), ElementsAre("I", "'", "LL", "\u0120don", "'t", "\u0120\u0120"));
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
  EXPECT_THAT(Words(both, "1- a!"), ElementsAre("\u01201", "\u0120-", "\u0120a", "!"));
}

TEST(PreTokenizerTest, AfterByteLevelStepsSeeTheCharactersThatStandForBytes) {
  // U+00E9 has the bytes C3 A9, for which U+00C3 and U+00A9 stand; for a space U+0120.
  const PreTokenizer after = {.steps = {ByteLevelStep{}, Step("\u00c3|\u0120")}};
  EXPECT_THAT(Words(after, "a \u00e9"), ElementsAre("a", "\u0120", "\u00c3", "\u00a9"));
}

TEST(PreTokenizerTest, WordRunsAreOfWordCharactersOrOfOthers) {
  EXPECT_THAT(Words({.steps = {WordRunsStep{}}}, " e\u0301_1 -- a!?b\t"),
              ElementsAre("e\u0301_1", "--", "a", "!?", "b"));
  EXPECT_THAT(Words({.steps = {WordRunsStep{}}}, "  "), ElementsAre());
}

TEST(PreTokenizerTest, AFixedLengthCountsCharacters) {
  EXPECT_THAT(Words({.steps = {Step("-"), FixedLengthStep{2}}}, "\u00e9bc-d"), ElementsAre("\u00e9b", "c", "-", "d"));
}

TEST(PreTokenizerTest, MetaspacePrependsToEachPieceOrToTheFirstAlone) {
  const SplitStep words = {*Pattern::Compile("_", PatternSyntax::kLiteral), SplitBehavior::kMergedWithNext};
  const PreTokenizer always = {.steps = {Step("-"), MetaspaceStep{"_", MetaspaceStep::Prepend::kAlways, words}}};
  EXPECT_THAT(Words(always, "a b-c"), ElementsAre("_a", "_b", "_-", "_c"));
  const PreTokenizer first = {.steps = {MetaspaceStep{"_", MetaspaceStep::Prepend::kFirst, std::nullopt}}};
  EXPECT_THAT(Words(first, "a b"), ElementsAre("_a_b"));
  EXPECT_THAT(Words(first, " a"), ElementsAre("_a"));
  int64_t steps = kStepsOfText;
  EXPECT_THAT(*PreTokenize(first, "a b", /*is_first=*/false, &steps), ElementsAre("a_b"));
}

}  // namespace
}  // namespace reprise::models
