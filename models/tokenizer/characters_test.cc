#include "models/tokenizer/characters.h"

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

TEST(CharactersTest, WordsConsistOfLettersMarksNumbersAndConnectors) {
  for (const char* const text : {"a", "\u00e9", "\u4e2d", "\u0301", "7", "\u0663", "\u2167", "_", "\u200d", "\u24b6"}) {
    EXPECT_TRUE(BeginsWithWordCharacter(text)) << text;
    EXPECT_TRUE(EndsWithWordCharacter(text)) << text;
  }
  for (const char* const text : {"", " ", "-", "\u00b2", "\U0001f600", "\u200b", "\n"}) {
    EXPECT_FALSE(BeginsWithWordCharacter(text)) << text;
    EXPECT_FALSE(EndsWithWordCharacter(text)) << text;
  }
  EXPECT_TRUE(EndsWithWordCharacter("! \u4e2d"));
  EXPECT_FALSE(EndsWithWordCharacter("\u4e2d!"));
  EXPECT_FALSE(BeginsWithWordCharacter("!\u4e2d"));
}

TEST(CharactersTest, CountsTheBytesOfSpaceAtBothEnds) {
  EXPECT_EQ(LeadingSpace(" \u3000\ta "), 5u);
  EXPECT_EQ(TrailingSpace("a \u3000\t"), 5u);
  EXPECT_EQ(LeadingSpace("\u200b "), 0u);
  EXPECT_EQ(TrailingSpace(" \u180e"), 0u);
  EXPECT_EQ(LeadingSpace("  "), 2u);
  EXPECT_EQ(TrailingSpace("  "), 2u);
  EXPECT_EQ(LeadingSpace(""), 0u);
}

}  // namespace
}  // namespace reprise::models
