#include "models/tokenizer/oniguruma/pattern_size.h"

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

TEST(PatternSizeTest, CountedRepeatsMultiplyWhatTheyRepeat) {
  EXPECT_EQ(WrittenOutSize(""), 0);
  EXPECT_EQ(WrittenOutSize("a(b[cd]){2}\\w"), 1 + 2 * 2 + 1);
  EXPECT_EQ(WrittenOutSize("a{100000}"), 100000);
  EXPECT_EQ(WrittenOutSize("(a{10,20}b{,3}c{4,}){5}"), 5 * (20 + 3 + 4));
  EXPECT_EQ(WrittenOutSize("\\p{L}{3}\\x{41}"), 4);
  EXPECT_EQ(WrittenOutSize("\u00e9{7}"), 7);
}

TEST(PatternSizeTest, BracesAndBracketsThatAreCharactersAreNoRepeats) {
  EXPECT_EQ(WrittenOutSize("a\\{9}"), 4);
  EXPECT_EQ(WrittenOutSize("[a{9}]"), 1);
  EXPECT_EQ(WrittenOutSize("[]{9}]b"), 2);
  EXPECT_EQ(WrittenOutSize("[a-z&&[^{5}]]"), 1);
  EXPECT_EQ(WrittenOutSize("{}{,}{a}"), 8);
  EXPECT_EQ(WrittenOutSize("((a"), 1);
}

}  // namespace
}  // namespace reprise::models
