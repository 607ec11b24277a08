#include "models/tokenizer/byte_alphabet.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

TEST(ByteAlphabetTest, PrintableBytesStandForThemselvesAndOthersFollowU0100) {
  EXPECT_EQ(ByteToText('A'), "A");
  EXPECT_EQ(ByteToText('~'), "~");
  EXPECT_EQ(ByteToText(0xe9), "\u00e9");
  EXPECT_EQ(ByteToText(0x00), "\u0100");
  EXPECT_EQ(ByteToText('\n'), "\u010a");
  EXPECT_EQ(ByteToText(' '), "\u0120");
  EXPECT_EQ(ByteToText(0x7f), "\u0121");
  EXPECT_EQ(ByteToText(0xa0), "\u0142");
  EXPECT_EQ(ByteToText(0xad), "\u0143");
}

TEST(ByteAlphabetTest, EveryByteHasItsOwnCharacterAndIsRecovered) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = ByteToText(static_cast<uint8_t>(byte));
    EXPECT_TRUE(characters.insert(text).second) << byte;
    EXPECT_EQ(TextToBytes(text), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(TextToBytes("\u0120the"), " the");
  EXPECT_EQ(BytesToText(" the\n"), "\u0120the\u010a");
  EXPECT_EQ(TextToBytes(""), "");
}

TEST(ByteAlphabetTest, OtherCharactersStandForNoByte) {
  for (const char* const text : {" ", "a b", "\u0144", "\u4e2d", "\U0001f600", "\u00ad", "\x80", "\xc3"}) {
    EXPECT_EQ(TextToBytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace reprise::models
