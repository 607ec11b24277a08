#include "models/tokenizer/pre_tokenizer.h"

#include <string>
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

SplitStep Step(absl::string_view pattern, SplitBehavior behavior = SplitBehavior::kIsolate) {
  return {*Pattern::Compile(pattern), behavior};
}

TEST(PreTokenizerTest, TheGpt2PatternKeepsOneSpaceBeforeAWord) {
  const PreTokenizer gpt2 = {.splits = {}, .words = Step(kGpt2Pattern)};
  EXPECT_THAT(Words(gpt2, "Hello  world's 42!?\n\n x"),
              ElementsAre("Hello", " ", " world", "'s", " 42", "!?", "\n\n", " x"));
  EXPECT_THAT(Words(gpt2, "I'LL don't  "), ElementsAre("I", "'", "LL", " don", "'t", "  "));
  EXPECT_THAT(Words(gpt2, ""), ElementsAre());
}

TEST(PreTokenizerTest, WithoutAPatternTheTextIsOneWord) { EXPECT_THAT(Words({}, "a b"), ElementsAre("a b")); }

TEST(PreTokenizerTest, SplitsKeepDropOrIsolateMatches) {
  EXPECT_THAT(Words({.splits = {Step("\\d")}, .words = {}}, "a12b"), ElementsAre("a", "1", "2", "b"));
  EXPECT_THAT(Words({.splits = {Step("\\d", SplitBehavior::kDropMatches)}, .words = {}}, "a12b"),
              ElementsAre("a", "b"));
  EXPECT_THAT(Words({.splits = {Step("\\d", SplitBehavior::kKeepMatches)}, .words = {}}, "a12b"),
              ElementsAre("1", "2"));
}

TEST(PreTokenizerTest, StepsFollowEachOtherAndThePrefixSpaceComesBeforeTheLast) {
  const PreTokenizer both = {.splits = {Step("\\d"), Step("-")}, .add_prefix_space = true, .words = Step(kGpt2Pattern)};
  EXPECT_THAT(Words(both, "1- a!"), ElementsAre(" 1", " -", " a", "!"));
}

}  // namespace
}  // namespace reprise::models
