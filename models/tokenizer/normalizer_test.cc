#include "models/tokenizer/normalizer.h"

#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/character_steps.h"

namespace reprise::models {
namespace {

std::string Apply(const Normalizer& normalizer, const std::string& text) {
  int64_t steps_left = kStepsOfText;
  const absl::StatusOr<std::string> result = Normalize(normalizer, text, &steps_left);
  EXPECT_OK(result);
  return *result;
}

std::string Nfc(const std::string& text) { return Apply({UnicodeForm::kNfc}, text); }

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

TEST(NormalizerTest, WithoutStepsNothingChanges) { EXPECT_EQ(Apply({}, "e\u0301"), "e\u0301"); }

TEST(NormalizerTest, CompatibilityFormsUnfoldLettersOfOtherShapes) {
  EXPECT_EQ(Apply({UnicodeForm::kNfkc}, "\ufb01 \u2460 \uff21 e\u0301"), "fi 1 A \u00e9");
  EXPECT_EQ(Apply({UnicodeForm::kNfkd}, "\ufb01 \u00e9"), "fi e\u0301");
  EXPECT_EQ(Apply({UnicodeForm::kNfd}, "\ufb01 \u00e9"), "\ufb01 e\u0301");
}

// As in Hugging Face's tokenizers, whose tables are those of Unicode 9.
TEST(NormalizerTest, CharactersNewerThanUnicode9AreLeftAlone) {
  EXPECT_EQ(Apply({UnicodeForm::kNfkc}, "\u32ff \u337b"), "\u32ff \u5e73\u6210");  // the eras Reiwa (2019) and Heisei
  EXPECT_EQ(Nfc("a\u0898\u0323"), "a\u0898\u0323");  // a mark of Unicode 14: U+0323 does not move across it
  EXPECT_EQ(Nfc("e\u0301\u0898e\u0301"), "\u00e9\u0898\u00e9");
}

TEST(NormalizerTest, LowercaseKeepsToSingleCharacters) {
  EXPECT_EQ(Apply({Lowercase{}}, "AbC \u0130 \u03a3 \u00c9\u4e2d"), "abc i\u0307 \u03c3 \u00e9\u4e2d");
}

TEST(NormalizerTest, ReplacesPrependsAndStrips) {
  EXPECT_EQ(Apply({Replacement{*Pattern::Compile("[aeiou]+"), "-"}}, "queue up"), "q- -p");
  EXPECT_EQ(Apply({Replacement{*Pattern::Compile(".", PatternSyntax::kLiteral), ""}}, "a.b."), "ab");
  EXPECT_EQ(Apply({Prefix{"_"}}, "a"), "_a");
  EXPECT_EQ(Apply({Prefix{"_"}}, ""), "");
  EXPECT_EQ(Apply({Strip{.left = true}}, " \u3000a "), "a ");
  EXPECT_EQ(Apply({Strip{.right = true}}, " a\n "), " a");
  EXPECT_EQ(Apply({Strip{true, true}, Prefix{"_"}}, "  "), "");
}

TEST(NormalizerTest, StepsFollowEachOther) {
  EXPECT_EQ(Apply({Strip{true, true}, UnicodeForm::kNfkc, Prefix{"\ufb01"}}, " \ufb01 "),
            "\ufb01"
            "fi");
}

TEST(CharacterStepsTest, AccentsAreMarksOfUnicode9) {
  EXPECT_EQ(ApplyStep(CharacterStep::kStripAccents, "e\u0301\u0903\u20dd\u00e9"), "e\u00e9");
  EXPECT_EQ(ApplyStep(CharacterStep::kStripAccents, "a\u0afa\u1df6"), "a\u0afa\u1df6");  // of Unicode 10
  EXPECT_EQ(ApplyStep(CharacterStep::kStripAccents, "a\u1cf2"), "a");
}

TEST(CharacterStepsTest, NonspacingMarksAreThoseOfUnicode8) {
  EXPECT_EQ(ApplyStep(CharacterStep::kStripNonspacing, "e\u0301\u0903\u20dd"), "e\u0903\u20dd");
  EXPECT_EQ(ApplyStep(CharacterStep::kStripNonspacing, "a\u08d4\u1734"), "a\u08d4");
}

TEST(CharacterStepsTest, CleanTextHasNoControlsAndOneKindOfSpace) {
  EXPECT_EQ(ApplyStep(CharacterStep::kCleanText, std::string("a\0\tb\u200d\ufffd\u3000\x0b\u00ad\u08e2", 19)),
            "a b \u08e2");
}

TEST(CharacterStepsTest, IdeographsStandBetweenSpaces) {
  EXPECT_EQ(ApplyStep(CharacterStep::kSpaceIdeographs, "a\u4e2d\u6587b\u30a2\U0002b820"),
            "a \u4e2d  \u6587 b\u30a2\U0002b820");
}

TEST(CharacterStepsTest, TranslationHasNoControlsAndVisibleSpaces) {
  EXPECT_EQ(ApplyStep(CharacterStep::kCleanForTranslation, "a\x01\tb\u200b\u2581\ufeff\x7f\u00a0"), "a b   \u00a0");
}

}  // namespace
}  // namespace reprise::models
