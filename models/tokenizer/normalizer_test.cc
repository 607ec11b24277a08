#include "models/tokenizer/normalizer.h"

#include <string>

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

std::string Nfc(const std::string& text) { return Normalize(Normalization::kNfc, text); }

TEST(NormalizerTest, ComposesLettersMarksAndHangul) {
  EXPECT_EQ(Nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(Nfc("\u212b \u0041\u030a"), "\u00c5 \u00c5");
  EXPECT_EQ(Nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(Nfc("q\u0307\u0323"), "q\u0323\u0307");  // marks in canonical order, no composition
  EXPECT_EQ(Nfc("\ufb1d"), "\u05d9\u05b4");          // excluded from composition
}

TEST(NormalizerTest, LeavesComposedTextAndZeroBytesAlone) {
  const std::string text = std::string("a\0\u00e9\n", 5) + "\u4e2d\U0001f600\u200d";
  EXPECT_EQ(Nfc(text), text);
  EXPECT_EQ(Nfc(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(Nfc(""), "");
}

TEST(NormalizerTest, NoneChangesNothing) { EXPECT_EQ(Normalize(Normalization::kNone, "e\u0301"), "e\u0301"); }

}  // namespace
}  // namespace reprise::models
