#include "core/json/json.h"

#include <cstdint>
#include <limits>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using reprise::testing::StatusIs;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

JsonDocument Parsed(absl::string_view text) {
  absl::StatusOr<JsonDocument> document = JsonDocument::Parse(text);
  EXPECT_OK(document);
  return *std::move(document);
}

TEST(JsonTest, ReadsEachType) {
  const JsonDocument document = Parsed(R"({"s": "x", "b": true, "d": 0.5, "i": -3, "a": [1, 2], "n": null})");
  const JsonValue root = document.root();
  ASSERT_OK_AND_ASSIGN(const JsonValue s, root.Get("s"));
  EXPECT_EQ(*s.String(), "x");
  EXPECT_TRUE(*root.Find("b")->Bool());
  EXPECT_EQ(*root.Find("d")->Number(), 0.5);
  EXPECT_EQ(*root.Find("i")->Integer(-3, 3), -3);
  EXPECT_EQ(*root.Find("i")->Number(), -3.0);
  EXPECT_EQ((*root.Find("a")->Elements())[1].place(), "/a/1");
  EXPECT_EQ((*root.Members())[5].first, "n");
  EXPECT_FALSE(root.Find("n").has_value());
  EXPECT_FALSE(root.Find("absent").has_value());
}

TEST(JsonTest, AWrongTypeNamesThePlaceAndBothTypes) {
  const JsonDocument document = Parsed(R"({"a/b": {"c~d": ["x"]}})");
  ASSERT_OK_AND_ASSIGN(const auto elements, document.root().Find("a/b")->Find("c~d")->Elements());
  EXPECT_THAT(elements[0].Bool(), StatusIs(kInvalid, "/a~1b/c~0d/0: expected a boolean, found a string"));
  EXPECT_THAT(document.root().Number(), StatusIs(kInvalid, "(root): expected a number, found an object"));
  EXPECT_THAT(document.root().Get("z"), StatusIs(kInvalid, "/z is missing"));
}

TEST(JsonTest, AnIntegerMustBeWholeAndInRange) {
  const JsonDocument document = Parsed(R"([1.0, 7, 18446744073709551615])");
  ASSERT_OK_AND_ASSIGN(const auto elements, document.root().Elements());
  EXPECT_THAT(elements[0].Integer(0, 9),
              StatusIs(kInvalid, "/0: expected an integer, found a number with a fraction or an exponent"));
  EXPECT_THAT(elements[1].Integer(0, 6), StatusIs(kInvalid, "/1: expected an integer from 0 to 6, found 7"));
  EXPECT_THAT(elements[2].Integer(0, 6), StatusIs(kInvalid, ::testing::HasSubstr("found 18446744073709551615")));
}

TEST(JsonTest, AnIntegerBeyond64BitsIsTheNearestDouble) {
  const JsonDocument document = Parsed(
      R"({"a": [123456789012345678901234567890, -18446744073709551616], "\"9999999999999999999999": 18446744073709551615,
          "text": "123456789012345678901234567890 \\"})");
  ASSERT_OK_AND_ASSIGN(const auto elements, document.root().Find("a")->Elements());
  EXPECT_EQ(*elements[0].Number(), 123456789012345678901234567890.0);
  EXPECT_EQ(*elements[1].Number(), -0x1p64);
  EXPECT_THAT(elements[0].Integer(0, 9),
              StatusIs(kInvalid, "/a/0: expected an integer from 0 to 9, found 1.23457e+29"));
  EXPECT_EQ((*document.root().Members())[1].first, "\"9999999999999999999999");
  EXPECT_EQ(*document.root().Find("text")->String(), "123456789012345678901234567890 \\");
  EXPECT_EQ(*Parsed("-0").root().Number(), 0.0);
  EXPECT_EQ(*Parsed("1e-400").root().Number(), 0.0);
}

TEST(JsonTest, AnIntegerBeyond64BitsLeavesTheOthersWhole) {
  const JsonDocument document =
      Parsed("[18446744073709551616, 9223372036854775807, -9223372036854775808, 18446744073709551615]");
  ASSERT_OK_AND_ASSIGN(const auto elements, document.root().Elements());
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(*elements[0].Number(), 0x1p64);
  EXPECT_EQ(*elements[1].Integer(kLeast, kMost), kMost);
  EXPECT_EQ(*elements[2].Integer(kLeast, kMost), kLeast);
  EXPECT_THAT(elements[3].Integer(0, 9), StatusIs(kInvalid, ::testing::HasSubstr("found 18446744073709551615")));
}

TEST(JsonTest, RefusesWhatIsNoNumber) {
  for (const std::string text : {"[0123456789012345678901]", "[12345678901234567890.]", "[+1]", "[nan]", "[-NaN]",
                                 "[NaN1]", "[Inf]", "[1e400e]", "[.1e400]", "[-]"}) {
    EXPECT_THAT(JsonDocument::Parse(text),
                StatusIs(kInvalid, ::testing::StartsWith("not valid JSON at line 1, column ")))
        << text;
  }
}

// Another program's document with one such member is read, and the member is an error where it is read.
TEST(JsonTest, AValueThatNobodyCanReadIsAnErrorOfThatValueAlone) {
  const std::string digits(400, '7');
  const JsonDocument document =
      Parsed("{\"a\": 1e400, \"b\": [-1E+400, null, " + digits +
             "], \"c\": NaN, \"d\": {\"e\": -Infinity, \"f\": \"x\\udc00\\n\"}, \"n\": null, "
             "\"o\": \"NaN null 1e400\", \"p\": Infinity, \"q\": 18446744073709551616, \"r\": 7}");
  const JsonValue root = document.root();
  EXPECT_THAT(root.Find("a")->Number(),
              StatusIs(kInvalid, "/a: the number 1e400 is beyond the range of a double, which is +-1.8e308"));
  EXPECT_THAT(root.Find("a")->Integer(0, 9), StatusIs(kInvalid, ::testing::StartsWith("/a: the number 1e400 is ")));
  ASSERT_OK_AND_ASSIGN(const auto elements, root.Find("b")->Elements());
  EXPECT_THAT(elements[0].String(), StatusIs(kInvalid, ::testing::StartsWith("/b/0: the number -1E+400 is beyond")));
  EXPECT_TRUE(elements[1].is_null());
  EXPECT_THAT(elements[2].Number(), StatusIs(kInvalid, ::testing::HasSubstr("/b/2: the number 777777777777777777777777"
                                                                            "... (400 characters) is beyond")));
  EXPECT_THAT(root.Get("c")->Bool(), StatusIs(kInvalid, "/c: NaN is no number in JSON: write null or a finite number"));
  EXPECT_FALSE(root.Find("c")->is_null());
  EXPECT_THAT(root.Find("d")->Find("e")->Number(), StatusIs(kInvalid, ::testing::HasSubstr("/d/e: -Infinity is no")));
  EXPECT_THAT(
      root.Find("d")->Find("f")->String(),
      StatusIs(kInvalid, ::testing::StartsWith("/d/f: the text has \\udc00, which is half of a surrogate pair")));
  EXPECT_TRUE(root.Find("d")->Find("f")->is_string());
  EXPECT_TRUE(root.Find("a")->is_number());
  EXPECT_FALSE(root.Find("n").has_value());
  EXPECT_EQ(*root.Find("o")->String(), "NaN null 1e400");
  EXPECT_THAT(root.Find("p")->Elements(), StatusIs(kInvalid, ::testing::StartsWith("/p: Infinity is no number")));
  EXPECT_EQ(*root.Find("q")->Number(), 0x1p64);
  EXPECT_EQ(*root.Find("r")->Integer(0, 9), 7);
  EXPECT_OK(root.Find("r")->Readable());
}

TEST(JsonTest, AnErrorBesideSuchAValueIsFoundAtItsOwnPlace) {
  EXPECT_EQ(FindJsonError("[NaN, 1e400, 18446744073709551616, \"\\ud800\", 1 2]"), 47u);
  EXPECT_EQ(FindJsonError("[NaN, \"\\ud800\"]"), std::nullopt);
  EXPECT_THAT(JsonDocument::Parse("[NaN, \"\\ud800 \\q\"]"),
              StatusIs(kInvalid, ::testing::HasSubstr("not valid JSON")));
}

TEST(JsonTest, AByteOrderMarkBeforeADocumentIsSkipped) {
  EXPECT_EQ(*Parsed("\xef\xbb\xbf[7]").root().Elements()->at(0).Integer(0, 9), 7);
  EXPECT_THAT(JsonDocument::Parse("[\xef\xbb\xbf]"), StatusIs(kInvalid, ::testing::HasSubstr("not valid JSON")));
}

TEST(JsonTest, NamesAnotherFormatThatTheTextHas) {
  EXPECT_THAT(JsonDocument::Parse("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n"),
              StatusIs(kInvalid, ::testing::StartsWith("not valid JSON: this is a pointer of Git LFS")));
}

TEST(JsonTest, HalfASurrogatePairInANameIsKnownByItsEscape) {
  const JsonDocument document = Parsed(R"({"a\ud800": 1, "a\ud801": {"\udc00\u0041": 2}})");
  EXPECT_EQ(*document.root().Find(R"(a\ud800)")->Integer(0, 9), 1);
  EXPECT_EQ(*document.root().Find(R"(a\ud801)")->Find(R"(\udc00A)")->Integer(0, 9), 2);
  EXPECT_EQ(*Parsed(R"(["\ud83d\ude00"])").root().Elements()->at(0).String(), "\xf0\x9f\x98\x80");
}

TEST(MembersAsWrittenTest, KeepsEveryDigitAndDropsWhiteSpaceBetweenTokens) {
  const auto members = MembersAsWritten(
      " { \"n\" : 123456789012345678901234567890 , \"a b\":[ 1.50, { \"x y\" : -0 } ],\"s\\u0041\": \"a  \\u00e4\" ,"
      "\"e\":1E5 , \"z\" : null } ");
  ASSERT_TRUE(members.has_value());
  EXPECT_EQ(*members, (std::vector<WrittenMember>{{"n", "\"n\"", "123456789012345678901234567890"},
                                                  {"a b", "\"a b\"", R"([1.50,{"x y":-0}])"},
                                                  {"sA", "\"sA\"", R"("a  \u00e4")"},
                                                  {"e", "\"e\"", "1E5"},
                                                  {"z", "\"z\"", "null"}}));
  EXPECT_EQ(*MembersAsWritten(R"({"\ud800\"" : [ NaN , 1e400 ], "b": -Infinity, "c" : "\udc00" })"),
            (std::vector<WrittenMember>{{R"(\ud800\")", R"("\ud800\"")", "[NaN,1e400]"},
                                        {"b", "\"b\"", "-Infinity"},
                                        {"c", "\"c\"", R"("\udc00")"}}));
  EXPECT_EQ(MembersAsWritten("[1]"), std::nullopt);
  EXPECT_TRUE(MembersAsWritten("{}")->empty());
}

TEST(JsonTest, RefusesARepeatedKeyAtAnyDepth) {
  EXPECT_THAT(JsonDocument::Parse(R"({"a": 1, "a": 1})"), StatusIs(kInvalid, "/a: the key appears twice"));
  EXPECT_THAT(JsonDocument::Parse(R"([{"x": {"k": 0, "k": 1}}])"), StatusIs(kInvalid, "/0/x/k: the key appears twice"));
}

TEST(JsonTest, RefusesTextThatIsNotOneShallowDocument) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("{} {}"), std::string("\"\xff\""),
                                  std::string(65, '[') + std::string(65, ']')}) {
    EXPECT_THAT(JsonDocument::Parse(text), StatusIs(kInvalid, ::testing::HasSubstr("not valid JSON"))) << text;
  }
  EXPECT_THAT(JsonDocument::Parse(std::string(65, '[') + std::string(65, ']')),
              StatusIs(kInvalid, "not valid JSON: arrays and objects nest deeper than the limit of 64"));
  EXPECT_THAT(JsonDocument::Parse(" \n"), StatusIs(kInvalid, "not valid JSON at line 2, column 1: the text is empty"));
  EXPECT_OK(JsonDocument::Parse(std::string(60, '[') + std::string(60, ']')));
}

TEST(JsonTest, NamesTheByteThatIsNotUtf8AndZerosAtTheEnd) {
  EXPECT_THAT(
      JsonDocument::Parse("{\"a\":\n \"\xc3\xa4\xe4\"}"),
      StatusIs(kInvalid, ::testing::StartsWith("not valid JSON at line 2, column 5: byte 11 is 0xe4, which is not "
                                               "UTF-8; if the text is Latin-1 (Windows-1252), convert it with "
                                               "iconv -f WINDOWS-1252 -t UTF-8 ")));
  EXPECT_THAT(JsonDocument::Parse("{\"a\": \"\xc3"), StatusIs(kInvalid, ::testing::HasSubstr("byte 8 is 0xc3")));
  EXPECT_THAT(
      JsonDocument::Parse(absl::string_view("{}\0\0\0", 5)),
      StatusIs(kInvalid, ::testing::StartsWith("not valid JSON at line 1, column 3: it ends with 3 zero bytes")));
  EXPECT_THAT(JsonDocument::Parse(absl::string_view("\0\0\0\0", 4)),
              StatusIs(kInvalid, ::testing::HasSubstr("it is nothing but 4 zero bytes")));
}

TEST(JsonTest, ReportsLineAndColumnOfAnErrorUnlessTheCallerDoes) {
  EXPECT_THAT(JsonDocument::Parse("{\n  \"a\": 1,\n  \"b\" 2\n}\n"),
              StatusIs(kInvalid, ::testing::HasSubstr("not valid JSON at line 3, column 7: ")));
  EXPECT_THAT(JsonDocument::Parse("{\"a\" 1}"),
              StatusIs(kInvalid, ::testing::StartsWith("not valid JSON at line 1, column 6: ")));
  EXPECT_THAT(JsonDocument::Parse("{\"a\" 1}", JsonErrorPlace::kLeftOut),
              StatusIs(kInvalid, ::testing::StartsWith("not valid JSON: ")));
}

TEST(FindJsonErrorTest, ReturnsTheByteOffsetOfTheError) {
  EXPECT_EQ(FindJsonError("{\"a\": 1}"), std::nullopt);
  EXPECT_EQ(FindJsonError("{\"a\" 1}"), 5u);
  EXPECT_EQ(FindJsonError("{} {}"), 3u);
  EXPECT_EQ(FindJsonError("{\"a\": 1"), 7u);
  EXPECT_EQ(FindJsonError(""), 0u);
}

TEST(FindMemberTest, ReturnsOffsetAndTextOfAValue) {
  const std::string text = "{\"a\": {\"b\": 1}, \"b\" :  -2.50 , \"c\": \"d\"}";
  EXPECT_EQ(FindMember(text, "b")->text, "-2.50");
  EXPECT_EQ(FindMember(text, "b")->offset, text.find("-2.50"));
  EXPECT_EQ(FindMember(text, "c")->text, "\"d\"");
  EXPECT_EQ(FindMember(text, "x"), std::nullopt);
  EXPECT_EQ(FindMember("[1]", "x"), std::nullopt);
  EXPECT_EQ(FindMember("\xef\xbb\xbf{\"b\": 1}", "b"), (JsonToken{9, "1"}));
}

}  // namespace
}  // namespace reprise
