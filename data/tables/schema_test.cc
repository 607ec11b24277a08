#include "data/tables/schema.h"

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

StreamSchema WithColumn(ColumnSchema column) { return {"s", 1, {ScalarColumn("a", DType::kI64), std::move(column)}}; }

TEST(CheckSchemaTest, AcceptsEveryKindOfColumn) {
  EXPECT_OK(CheckSchema({"episodes-2.x",
                         3,
                         {ScalarColumn("a", DType::kF64), FixedColumn("b", DType::kU8, 32),
                          RaggedColumn("c", DType::kBF16), StringColumn("d")}}));
}

TEST(CheckSchemaTest, NamesWhatItRefuses) {
  EXPECT_THAT(CheckSchema({"", 1, {StringColumn("a")}}), StatusIs(kInvalid, HasSubstr("stream \"\"")));
  EXPECT_THAT(CheckSchema({"s", 0, {StringColumn("a")}}), StatusIs(kInvalid, HasSubstr("version is 0")));
  EXPECT_THAT(CheckSchema({"s", 1, {}}), StatusIs(kInvalid, HasSubstr("no columns")));
  EXPECT_THAT(CheckSchema(WithColumn(StringColumn("a"))), StatusIs(kInvalid, HasSubstr("\"a\" appears twice")));
  EXPECT_THAT(CheckSchema(WithColumn(FixedColumn("b", DType::kU8, 0))), StatusIs(kInvalid, HasSubstr("width is 0")));
  const int64_t wraps = int64_t{1} << 61;  // 8 bytes each: 2^64 of a row
  EXPECT_THAT(CheckSchema(WithColumn(FixedColumn("b", DType::kI64, wraps))),
              StatusIs(kInvalid, HasSubstr("width is ")));
  EXPECT_THAT(CheckSchema(WithColumn({"b", DType::kF32, ColumnKind::kString, 1})),
              StatusIs(kInvalid, HasSubstr("not of u8")));
  EXPECT_THAT(CheckSchema(WithColumn({"b", DType::kF32, ColumnKind::kRagged, 2})),
              StatusIs(kInvalid, HasSubstr("width is 2")));
}

TEST(IsArtifactNameTest, RefusesNamesThatHdf5OrTheFileSystemWouldMisread) {
  for (absl::string_view good : {"a", "reward_std", "0.weights", "A-b.c"}) EXPECT_TRUE(IsArtifactName(good)) << good;
  for (absl::string_view bad : {"", ".", "..", "a/b", "a b", "a\n", "tokens.offsets", "\xc3\xa4"}) {
    EXPECT_FALSE(IsArtifactName(bad)) << bad;
  }
  EXPECT_FALSE(IsArtifactName(std::string(65, 'a')));
}

TEST(FindColumnTest, FindsByNameOrListsTheNames) {
  const StreamSchema schema = WithColumn(StringColumn("text"));
  EXPECT_EQ(FindColumn(schema, "text").value(), 1);
  EXPECT_THAT(FindColumn(schema, "txt"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("it has a, text")));
}

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr char kText[] =
    "stream episodes 2\n"
    "column scalar i64 1 prompt\n"
    "column ragged i32 1 tokens\n"
    "stream metrics 1\n"
    "column string u8 1 name\n"
    "column fixed f64 3 values\n";

std::vector<StreamSchema> Schemas() {
  return {{"episodes", 2, {ScalarColumn("prompt", DType::kI64), RaggedColumn("tokens", DType::kI32)}},
          {"metrics", 1, {StringColumn("name"), FixedColumn("values", DType::kF64, 3)}}};
}

TEST(SchemaTextTest, IsTheTextOfTheFormat) { EXPECT_EQ(EncodeSchemas(Schemas()), kText); }

TEST(SchemaTextTest, ReadsWhatItWrote) {
  EXPECT_EQ(ParseSchemas(kText).value(), Schemas());
  EXPECT_THAT(ParseSchemas("").value(), IsEmpty());
}

TEST(SchemaTextTest, RefusesEveryTruncatedText) {
  const absl::string_view text = kText;
  const size_t first_stream_ends = text.find("stream metrics");
  for (size_t size = 1; size < text.size(); ++size) {
    const bool is_whole = size == first_stream_ends ||
                          text.substr(0, size) == text.substr(0, text.find("column fixed")) ||
                          text.substr(0, size) == text.substr(0, text.find("column ragged"));
    EXPECT_EQ(ParseSchemas(text.substr(0, size)).ok(), is_whole) << text.substr(0, size);
  }
}

TEST(SchemaTextTest, NamesTheLineThatItCannotParse) {
  EXPECT_THAT(ParseSchemas("column scalar i64 1 a\n"), StatusIs(kDataLoss, HasSubstr("column scalar i64 1 a")));
  EXPECT_THAT(ParseSchemas("stream s 1\ncolumn scalar i65 1 a\n"), StatusIs(kDataLoss, HasSubstr("i65")));
  EXPECT_THAT(ParseSchemas("stream s 1\ncolumn scalar i64 1 a/b\n"), StatusIs(kDataLoss, HasSubstr("a/b")));
  EXPECT_THAT(ParseSchemas("stream s 01\ncolumn scalar i64 1 a\n"), StatusIs(kDataLoss, HasSubstr("canonical form")));
}

}  // namespace
}  // namespace reprise
