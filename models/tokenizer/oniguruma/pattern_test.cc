#include "models/tokenizer/oniguruma/pattern.h"

#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Matches(const std::string& pattern, const std::string& text,
                                 PatternSyntax syntax = PatternSyntax::kRegex) {
  const absl::StatusOr<Pattern> compiled = Pattern::Compile(pattern, syntax);
  EXPECT_OK(compiled);
  int64_t steps = kStepsOfText;
  const absl::StatusOr<std::vector<ByteRange>> ranges = compiled->FindAll(text, &steps);
  EXPECT_OK(ranges);
  std::vector<std::string> matches;
  for (const ByteRange& range : *ranges) matches.push_back(text.substr(range.begin, range.end - range.begin));
  return matches;
}

TEST(PatternTest, FindsUnicodeLettersAndNumbers) {
  EXPECT_THAT(Matches("\\p{L}+|\\p{N}", "\u00e9\u4e2d7\u0663!a"), ElementsAre("\u00e9\u4e2d", "7", "\u0663", "a"));
  EXPECT_THAT(Matches("x", ""), ElementsAre());
}

TEST(PatternTest, LookAheadSeesTheWholeText) {
  EXPECT_THAT(Matches("\\s+(?!\\S)|\\s+|\\S+", "a   b"), ElementsAre("a", "  ", " ", "b"));
}

TEST(PatternTest, SpacesAreUnicodesWhiteSpace) {
  EXPECT_THAT(Matches("\\s+", "a\u00a0\u0085\u3000b"), ElementsAre("\u00a0\u0085\u3000"));
  EXPECT_THAT(Matches("[^\\s]+", "\u180e \u200b"), ElementsAre("\u180e", "\u200b"));
  EXPECT_THAT(Matches("\\S", "\u180e"), ElementsAre("\u180e"));
  EXPECT_THAT(Matches("\\\\s", "\\s "), ElementsAre("\\s"));  // an escaped backslash and the letter s
}

TEST(PatternTest, ALiteralIsNotARegularExpression) {
  EXPECT_THAT(Matches("a.\\s", "a.\\s ab ", PatternSyntax::kLiteral), ElementsAre("a.\\s"));
}

// Each of these is another expression in Perl's syntax.
TEST(PatternTest, TheSyntaxIsOnigurumas) {
  EXPECT_THAT(Matches("[a-z&&[^b-y]]", "abz&"), ElementsAre("a", "z"));
  EXPECT_THAT(Matches("[^(\\s|[.,])]+", "a.b(c"), ElementsAre("a", "b", "c"));  // a bracket in a class opens a class
  EXPECT_THAT(Matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(Matches("\\h+", "0aFg \t"), ElementsAre("0aF"));
  EXPECT_THAT(Matches("(?m:.)+", "x\ny"), ElementsAre("x\ny"));
  EXPECT_THAT(Matches(".+", "x\ny"), ElementsAre("x", "y"));
  EXPECT_THAT(Matches("\\w+", "e\u0301 \u0939\u093f\u0928"), ElementsAre("e\u0301", "\u0939\u093f\u0928"));
  EXPECT_THAT(Matches("^b", "a\nb"), ElementsAre("b"));  // ^ stands at the beginning of any line
}

// Debian 12's Oniguruma knows Unicode 14.
TEST(PatternTest, PropertiesHaveTheCharactersOfUnicode16) {
  EXPECT_THAT(Matches("[\\p{P}\\p{S}]+", "a\U0001fa77\U0001fadf"), ElementsAre("\U0001fa77\U0001fadf"));  // emoji
  EXPECT_THAT(Matches("[\\p{L}&&[^\\p{Han}]]+", "\U00031350\U00011bc0"), ElementsAre("\U00011bc0"));
  EXPECT_THAT(Matches("\\p{N}+", "\U0001e5f1 \U000116d0"), ElementsAre("\U0001e5f1", "\U000116d0"));
  EXPECT_THAT(Matches("[^\\s\\p{L}\\p{N}]+", "\U00031350 \U0001fa77"), ElementsAre("\U0001fa77"));
  EXPECT_THAT(Matches("\\p{M}", "\u0897"), ElementsAre("\u0897"));
}

TEST(PatternTest, AnEmptyMatchCountsUnlessItFollowsAMatch) {
  const auto ranges = [](const std::string& pattern, const std::string& text) {
    int64_t steps = kStepsOfText;
    return *Pattern::Compile(pattern)->FindAll(text, &steps);
  };
  EXPECT_THAT(ranges("a*", "baac"), ElementsAre(ByteRange{0, 0}, ByteRange{1, 3}, ByteRange{4, 4}));
  EXPECT_THAT(ranges("a|(?=x)", "abx\u00e9x"), ElementsAre(ByteRange{0, 1}, ByteRange{2, 2}, ByteRange{5, 5}));
  EXPECT_THAT(ranges("", "\u00e9"), ElementsAre(ByteRange{0, 0}, ByteRange{2, 2}));
  EXPECT_THAT(ranges("", ""), ElementsAre());
}

TEST(PatternTest, RefusesAMalformedPattern) {
  EXPECT_THAT(Pattern::Compile("(a"), StatusIs(absl::StatusCode::kInvalidArgument,
                                               "the pattern (a is malformed: end pattern with unmatched parenthesis"));
  EXPECT_THAT(Pattern::Compile("\\p{Foo}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("invalid character property name {Foo}")));
  EXPECT_THAT(Pattern::Compile(std::string(5000, '(') + "a" + std::string(5000, ')')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parse depth limit over")));
}

TEST(PatternTest, RefusesAClassThatVersionsOfOnigurumaReadDifferently) {
  for (const char* const pattern : {"[[:punct:]]", "[^a[:^punct:]]"}) {
    EXPECT_THAT(Pattern::Compile(pattern),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("write \\p{P}, or \\p{P}\\p{S}, instead")));
  }
  EXPECT_OK(Pattern::Compile("[:punct:]", PatternSyntax::kLiteral));
}

TEST(PatternTest, AMatchThatDoesNotAdvanceIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile("(?<=\\Ka)"));
  int64_t steps = kStepsOfText;
  EXPECT_THAT(pattern.FindAll("aa", &steps),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not advance")));
}

TEST(PatternTest, ALimitOfMemoryEndsARunOfMillions) {
  ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile("(?:a|b)*c"));
  int64_t steps = kStepsOfText;
  EXPECT_THAT(
      pattern.FindAll(std::string(5 << 20, 'a') + "c", &steps),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the tokenizer's pattern (?:a|b)*c ends with match-stack limit over; use a shorter text")));
}

TEST(PatternTest, ALimitEndsRunawayBacktracking) {
  ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile("(a+)+$"));
  int64_t steps = kStepsOfText;
  EXPECT_THAT(pattern.FindAll(std::string(40, 'a') + "b", &steps),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot split the text at byte 0 of its 41: the tokenizer's pattern (a+)+$ takes more than "
                       "10000000 steps; use a shorter text, or a pattern that backtracks less"));
  EXPECT_EQ(steps, 0);
}

// Each match alone stays within the limit.
TEST(PatternTest, TheLimitAppliesToAllMatchesOfATextTogether) {
  ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile("(?:(?=(?:[a-z]|[a-z]{2}){1,17}\\x{10FFFF})x|.)"));
  int64_t steps = kStepsOfText;
  EXPECT_THAT(pattern.FindAll(std::string(100, 'a'), &steps),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes more than 10000000 steps")));
  // A text that needs only part of the steps subtracts them from what is left for the next.
  steps = kStepsOfText;
  EXPECT_OK(pattern.FindAll("abcdefghijklmnop", &steps));
  const int64_t used = kStepsOfText - steps;
  EXPECT_GT(used, 0);
  EXPECT_OK(pattern.FindAll("abcdefghijklmnop", &steps));
  EXPECT_EQ(kStepsOfText - steps, 2 * used);
}

// None of these steps back: each place of the text looks at the rest of it.
TEST(PatternTest, TheLimitAppliesToStepsForwardToo) {
  const std::string text(1 << 18, 'x');
  for (const char* const regex : {"(?>\\w+)!|y", "(?=.*!)x", "\\p{L}++\\d|\\p{L}", "[^!]+!"}) {
    ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile(regex));
    const bool is_linear = absl::string_view(regex) == "[^!]+!";
    int64_t steps = is_linear ? kStepsOfText : kStepsOfText / 8;
    const auto matches = pattern.FindAll(text + "\n!", &steps);
    if (is_linear) {
      EXPECT_OK(matches);
      continue;
    }
    EXPECT_THAT(matches, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr(std::string("the tokenizer's pattern ") + regex +
                                            " takes more than 10000000 steps; use a shorter text")));
  }
}

TEST(PatternTest, ASearchThatContinuesFindsTheSameMatches) {
  const std::string gap(5000, '.');
  EXPECT_THAT(Matches("(?<=\\.)a\\b|\\Gx|\\z", "x" + gap + "a" + gap + "x"), ElementsAre("x", "a", ""));
  EXPECT_THAT(Matches("\u00e9+", gap + "\u00e9\u00e9" + gap), ElementsAre("\u00e9\u00e9"));
}

TEST(PatternTest, RefusesARepeatThatIsTooLarge) {
  for (const char* const regex : {"a{100000}", "(?:a{1000}){1000}", "(?:(?:a{0,50}){50,}){50}", "(?>\\p{L}{20000})"}) {
    EXPECT_THAT(Pattern::Compile(regex),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(std::string("the pattern ") + regex +
                                   " has more than 10000 characters when its "
                                   "repeats are written out, which would take too long; repeat less")));
  }
  EXPECT_OK(Pattern::Compile("a{1000}"));
  EXPECT_OK(Pattern::Compile("a{100000}", PatternSyntax::kLiteral));
}

// Oniguruma would follow 2^40 calls while it compiles the pattern.
TEST(PatternTest, CallsOfGroupsAreLimited) {
  std::string regex = "(?<a0>x?)";
  for (int i = 1; i < 40; ++i) {
    const std::string call = "\\g<a" + std::to_string(i - 1) + ">";
    regex += "(?<a" + std::to_string(i) + ">" + call + call + ")";
  }
  EXPECT_THAT(Pattern::Compile(regex),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has more than 8 calls of groups (\\g)")));
  EXPECT_OK(Pattern::Compile("(?<p>a\\g<p>?b)"));
}

TEST(PatternTest, CostlyPlacesGiveTheSameMatches) {
  // There are no matches at the first places, which take more steps than are free, and one after them.
  ASSERT_OK_AND_ASSIGN(const Pattern pattern, Pattern::Compile("(?:[a-z]|[a-z]{2})+7|\u00e9!"));
  int64_t steps = kStepsOfText;
  ASSERT_OK_AND_ASSIGN(const std::vector<ByteRange> ranges, pattern.FindAll("abcdefghijklmnop\u00e9!xyz7", &steps));
  EXPECT_THAT(ranges, ElementsAre(ByteRange{16, 19}, ByteRange{19, 23}));
  EXPECT_LT(steps, kStepsOfText);
}

}  // namespace
}  // namespace reprise::models
