#include "core/config/toml_reader.h"

#include <cstring>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::config {
namespace {

rc::Gen<std::string> AnyAscii() {
  return rc::gen::container<std::string>(
      rc::gen::map(rc::gen::inRange(0, 128), [](int c) { return static_cast<char>(c); }));
}

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using What = TomlEntry::What;

std::string ErrorOf(absl::string_view text) { return std::string(ReadToml(text, "c.toml").status().message()); }

TEST(ReadTomlTest, ListsSectionsAndKeysInTheOrderOfTheText) {
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadToml("[z]\nb = 1\na = 'x'\n\n[y]\n  c = 0.5\n", "c.toml"));
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[0].what, What::kSection);
  EXPECT_EQ(entries[0].section, "z");
  EXPECT_EQ(entries[0].place, (Place{1, 2}));
  EXPECT_EQ(entries[1].key, "b");
  EXPECT_EQ(std::get<Value>(entries[1].value), Value(int64_t{1}));
  EXPECT_EQ(entries[2].key, "a");
  EXPECT_EQ(std::get<Value>(entries[2].value), Value(std::string("x")));
  EXPECT_EQ(entries[3].section, "y");
  EXPECT_EQ(entries[4].place, (Place{6, 3}));
  EXPECT_EQ(entries[4].value_place, (Place{6, 7}));
  EXPECT_EQ(std::get<Value>(entries[4].value), Value(0.5));
}

TEST(ReadTomlTest, ReadsDottedKeysAndInlineTablesAsSections) {
  for (absl::string_view text : {"a.b = true\n", "a = { b = true }\n", "[a]\r\nb = true\r\n"}) {
    ASSERT_OK_AND_ASSIGN(const auto entries, ReadToml(text, "c.toml"));
    ASSERT_EQ(entries.size(), 2u) << text;
    EXPECT_EQ(entries[1].section, "a");
    EXPECT_EQ(entries[1].key, "b");
    EXPECT_EQ(std::get<Value>(entries[1].value), Value(true));
  }
}

TEST(ReadTomlTest, MarksNonScalarsAndKeysOutsideSections) {
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadToml("x = [1]\n[a]\nb = [1]\nc = 2020-01-01\n[a.d]\n[[e]]\n", "c.toml"));
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(entries[0].what, What::kOutside);
  EXPECT_EQ(std::get<NotScalar>(entries[2].value).what, "an array");
  EXPECT_EQ(std::get<NotScalar>(entries[3].value).what, "a date or a time");
  EXPECT_EQ(std::get<NotScalar>(entries[4].value).what, "a table");
  EXPECT_EQ(entries[5].what, What::kOutside);
  EXPECT_EQ(entries[5].key, "e");
}

TEST(ReadTomlTest, ReportsWhereAndWhyTextIsNotToml) {
  EXPECT_THAT(ReadToml("[a\n", "c.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("c.toml:1:3: not valid TOML: ")));
  EXPECT_EQ(ErrorOf("[a]\nb= hot\n"),
            "c.toml:2:4: this is not a TOML value; text needs quotes, numbers and true or false do not");
  EXPECT_THAT(ErrorOf("[a]\nb = 1 c = 2\n"), StartsWith("c.toml:2:7: not valid TOML: "));
  EXPECT_THAT(ErrorOf("b = \"\xff\""), ::testing::AllOf(HasSubstr("utf-8"), HasSubstr("iconv -f WINDOWS-1252")));
  EXPECT_THAT(ErrorOf("version https://git-lfs.github.com/spec/v1\noid sha256:ab\n"),
              HasSubstr(": this is a pointer of Git LFS, not the file itself"));
  EXPECT_THAT(ErrorOf("\x1f\x8b\x08"), HasSubstr(": this looks like a file compressed by gzip"));
  EXPECT_THAT(ErrorOf(absl::string_view("\xff\xfe[\0a\0]\0", 8)), HasSubstr(": this looks like UTF-16"));
  EXPECT_THAT(ErrorOf("b = 9223372036854775808\n"), HasSubstr("not representable in 64 bits"));
}

TEST(ReadTomlTest, RefusesASectionOrAKeyThatIsGivenTwice) {
  EXPECT_EQ(ErrorOf("[a]\nb = 1\n[a]\nc = 2\n"), "c.toml:3:1: section a is given twice");
  EXPECT_THAT(ErrorOf("[a]\nb = 1\nb = 2\n"), HasSubstr("key b is given twice"));
}

TEST(ReadTomlTest, RefusesTextThatIsTooLong) {
  EXPECT_THAT(ErrorOf(std::string((size_t{1} << 20) + 1, '\n')), HasSubstr("the configuration has 1048577 bytes"));
}

// 100,000 levels of tables would overflow the stack when they are freed.
TEST(ReadTomlTest, RefusesKeysOfManyParts) {
  const std::string message = "there are more than 16 levels";
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  EXPECT_EQ(ErrorOf("\n" + deep + " = 1\n"), "c.toml:2:32: " + message);
  EXPECT_THAT(ErrorOf("[" + deep + "]\n"), HasSubstr(message));
  EXPECT_THAT(ErrorOf("# it's\n" + deep + " = 1\n"), HasSubstr(message));
  EXPECT_THAT(ErrorOf(deep.substr(0, 31) + " . 'a' = 1\n"), HasSubstr(message));
  EXPECT_OK(ReadToml(deep.substr(0, 31) + " = 1\n", "c.toml"));
}

TEST(ReadTomlTest, TellsKeysFromStringsAsTomlDoes) {
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  const std::string dots(size_t{1} << 18, '.');
  for (const std::string& before :
       {std::string(R"("\"")"), std::string(R"('\')"), std::string(R"("""""")"), std::string(R"("""x""""")"),
        std::string(R"("""\"""")"), std::string("'''''''"), std::string("'''\n\\'''"), std::string("''"),
        std::string(R"("#")"), std::string("1.5"), "\"é" + dots + "\"", "'" + dots + "'", "'''\n" + dots + "'''"}) {
    EXPECT_OK(ReadToml("x = [" + before + ", {a.a = 1}]\n", "c.toml")) << before.substr(0, 9);
    EXPECT_THAT(ErrorOf("x = [" + before + ", {" + deep + " = 1}]\n"), HasSubstr("there are more than 16 levels"))
        << before.substr(0, 9);
  }
}

TEST(ReadTomlTest, RefusesManyPartsInNestedTables) {
  std::string text = "x = [", key = "a", end = "1";
  for (int i = 0; i < 8000; ++i) key += ".a";
  for (int i = 0; i < 60; ++i) {
    text += "\n{" + key + " = [";
    end += "]}";
  }
  EXPECT_THAT(ErrorOf(text + end + "]\n"), StartsWith("c.toml:2:33: there are more than 16 levels"));
}

TEST(ReadTomlTest, ReadsTheDeepestTextThatItsLimitsAllow) {
  std::string text = "x = [", key = "a", end = "1";
  for (int i = 0; i < 15; ++i) key += ".a";
  for (int i = 0; i < 120; ++i) {
    text += "\n{" + key + " = [";
    end += "]}";
  }
  EXPECT_OK(ReadToml(text + end + "]\n", "c.toml"));
}

TEST(ReadTomlValueTest, ReadsOneValueAndNoMore) {
  ASSERT_OK_AND_ASSIGN(const auto value, ReadTomlValue("1e-6"));
  EXPECT_EQ(std::get<Value>(value), Value(1e-6));
  for (absl::string_view text : {"", "hot", "1 2", "1\nb = 2", "1\n[b]"})
    EXPECT_FALSE(ReadTomlValue(text).ok()) << text;
}

RC_GTEST_PROP(ReadTomlTest, ReadsBackWhatLiteralWrites, ()) {
  const auto bits = *rc::gen::arbitrary<uint64_t>();
  double number;
  static_assert(sizeof(number) == sizeof(bits));
  std::memcpy(&number, &bits, sizeof(number));
  if (number != number) number = 0.1;
  const auto read_number = ReadTomlValue(Literal(number));
  RC_ASSERT(read_number.ok());
  RC_ASSERT(std::get<Value>(*read_number) == Value(number));

  const Value text(*AnyAscii());
  const auto read_text = ReadTomlValue(Literal(text));
  RC_ASSERT(read_text.ok());
  RC_ASSERT(std::get<Value>(*read_text) == text);
}

RC_GTEST_PROP(ReadTomlTest, SurvivesAnyBytes, (const std::string& text)) {
  const auto entries = ReadToml(text, "c.toml");
  if (!entries.ok()) RC_ASSERT(entries.status().code() == absl::StatusCode::kInvalidArgument);
}

RC_GTEST_PROP(ReadTomlTest, SurvivesAnySequenceOfTomlsOwnTokens, ()) {
  const auto tokens = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("[", "]", "[[", "]]", "{", "}", "=", ",", ".", "\"", "'", "'''", "\"\"\"", "\n",
                                    "\r\n", " ", "#", "a", "b", "\\u", "1", "-", "+", "0x", "1e", "_", "inf", "nan",
                                    "true", "1979-05-27", "07:32:00", "\xef\xbb\xbf", "\xed\xa0\x80", "\\"));
  std::string text;
  for (const std::string& token : tokens) text += token;
  const auto entries = ReadToml(text, "c.toml");
  if (!entries.ok()) RC_ASSERT(entries.status().code() == absl::StatusCode::kInvalidArgument);
}

TEST(ReadTomlTreeTest, KeepsOrderLevelsAndPlaces) {
  ASSERT_OK_AND_ASSIGN(
      const TomlNode root,
      ReadTomlTree("z = 1\n[grid]\nrun.seed = [1, 2]\na = {low = 0.5}\n[[list]]\nx = 'y'\n", "c.toml"));
  ASSERT_EQ(root.children.size(), 3u);
  EXPECT_EQ(root.children[0].key, "z");
  const TomlNode* const grid = root.Find("grid");
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(grid->children[0].key, "run");
  const TomlNode* const seed = grid->children[0].Find("seed");
  ASSERT_NE(seed, nullptr);
  EXPECT_EQ(seed->kind, TomlNode::Kind::kArray);
  EXPECT_EQ(seed->key_place, (Place{3, 5}));
  EXPECT_EQ(seed->children[1].value, Value(int64_t{2}));
  EXPECT_EQ(seed->children[1].place, (Place{3, 16}));
  EXPECT_EQ(grid->Find("a")->Find("low")->value, Value(0.5));
  EXPECT_EQ(root.Find("list")->children[0].Find("x")->value, Value(std::string("y")));
  EXPECT_EQ(root.Find("grid")->Find("b"), nullptr);
}

TEST(ReadTomlTreeTest, RefusesTooManyLevels) {
  std::string dotted = "a";
  for (int i = 0; i < 1000; ++i) dotted += ".a";
  EXPECT_THAT(ReadTomlTree(dotted + " = 1\n", "c.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there are more than 16 levels")));
  EXPECT_THAT(ReadTomlTree("a = 1\na = 2\n", "c.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument, "c.toml:2:5: key a is given twice"));
}

}  // namespace
}  // namespace reprise::config
