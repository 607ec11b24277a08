#include "models/tokenizer/characters.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "simdjson.h"

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

TEST(Utf8Test, ReplacesMaximalPartsAsTheUnicodeStandardShows) {
  // Unicode 15, tables 3-8 to 3-11.
  const std::string r = "\ufffd";
  EXPECT_EQ(ToValidUtf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ToValidUtf8("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ToValidUtf8("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(ToValidUtf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), r + r + r + r + "A");
}

TEST(Utf8Test, ValidTextIsUnchanged) {
  constexpr char kText[] = "a\0b\u00e9\u4e2d\U0001f600\U0010ffff";
  const std::string text(kText, sizeof kText - 1);
  EXPECT_EQ(ToValidUtf8(text), text);
  EXPECT_EQ(ValidUtf8Prefix(text), text.size());
  EXPECT_EQ(ValidUtf8Prefix(""), 0u);
  EXPECT_EQ(ValidUtf8Prefix(text + "\xe4\xb8"), text.size());
}

TEST(CharactersTest, LowercaseIsThatOfEachCharacterByItself) {
  EXPECT_EQ(ToLowercase("AbC \u00c9\u03a3\u4e2d\U00010400"), "abc \u00e9\u03c3\u4e2d\U00010428");
  EXPECT_EQ(ToLowercase("\u0130"), "i\u0307");
  EXPECT_EQ(ToLowercase(""), "");
}

RC_GTEST_PROP(Utf8Test, AgreesWithAnotherValidator, ()) {
  // Bytes around the borders of the table, so that long valid and almost valid sequences occur.
  const auto bytes = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5")));
  RC_ASSERT((ValidUtf8Prefix(bytes) == bytes.size()) == simdjson::validate_utf8(bytes.data(), bytes.size()));
  const std::string text = ToValidUtf8(bytes);
  RC_ASSERT(simdjson::validate_utf8(text.data(), text.size()));
  const size_t prefix = ValidUtf8Prefix(bytes);
  RC_ASSERT(text.substr(0, prefix) == bytes.substr(0, prefix));
}

}  // namespace

}  // namespace reprise::models
