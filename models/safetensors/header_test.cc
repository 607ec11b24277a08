#include "models/safetensors/header.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::HasSubstr;

std::string WithLength(uint64_t length, absl::string_view rest) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(length >> (8 * i) & 255));
  absl::StrAppend(&file, rest);
  return file;
}

// Returns a file with `header` and `data_size` bytes of data.
std::string File(absl::string_view header, size_t data_size) {
  return WithLength(header.size(), absl::StrCat(header, std::string(data_size, 'x')));
}

absl::StatusOr<SafetensorsHeader> Parse(const std::string& file) {
  return ParseSafetensorsHeader(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file.data()), file.size()));
}

std::string Entry(absl::string_view name, absl::string_view dtype, absl::string_view shape, absl::string_view offsets) {
  return absl::StrCat("\"", name, R"(":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets,
                      "}");
}

void ExpectDataLoss(const std::string& file, const std::string& sentence) {
  EXPECT_THAT(Parse(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(sentence)));
}

TEST(SafetensorsHeaderTest, ReadsTypesShapesOffsetsAndMetadata) {
  const std::string header =
      absl::StrCat(R"({"__metadata__":{"format":"pt"},)", Entry("late", "BF16", "[2,3]", "[8,20]"), ",",
                   Entry("early", "F64", "[]", "[0,8]"), ",", Entry("empty", "U8", "[4,0]", "[20,20]"), "}   ");
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader parsed, Parse(File(header, 20)));
  EXPECT_EQ(parsed.data_start, 8 + header.size());
  EXPECT_EQ(parsed.metadata.at("format"), "pt");
  ASSERT_EQ(parsed.entries.size(), 3u);
  EXPECT_EQ(parsed.entries[0].name, "early");
  EXPECT_EQ(parsed.entries[0].dtype, DType::kF64);
  EXPECT_EQ(parsed.entries[1].shape, (Shape{2, 3}));
  EXPECT_EQ(parsed.entries[1].begin, 8u);
  EXPECT_EQ(parsed.entries[2].end, 20u);
}

TEST(SafetensorsHeaderTest, MetadataMayBeNull) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader parsed,
                       Parse(File(absl::StrCat(R"({"__metadata__":null,)", Entry("a", "U8", "[1]", "[0,1]"), "}"), 1)));
  EXPECT_TRUE(parsed.metadata.empty());
  EXPECT_EQ(parsed.entries.size(), 1u);
  ExpectDataLoss(File(R"({"__metadata__":[]})", 0), "/__metadata__: expected an object, found an array");
}

TEST(SafetensorsHeaderTest, NamesWhatTheFileIsInstead) {
  ExpectDataLoss("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n",
                 "not a safetensors file: this is a pointer of Git LFS, not the file itself");
  ExpectDataLoss(absl::StrCat("GGUF", std::string(600, '\0')), "not a safetensors file: this is a GGUF file");
  ExpectDataLoss("<!DOCTYPE html>", "not a safetensors file: this is a web page");
  ExpectDataLoss("<?xml version=\"1.0\"?>", "not a safetensors file: this is an XML document");
  for (const std::string text :
       {"Entry not found", "{\"error\": \"Not Found\"}", "404\n", "\tno such file or directory"}) {
    ExpectDataLoss(text, "not a safetensors file: this is text that begins with \"");
  }
  ExpectDataLoss("Entry not found",
                 "begins with \"Entry not found\", as a download leaves that was answered by a message");
  ExpectDataLoss(WithLength(0x280, "{"), "the header claims 640 bytes, the file holds 1 after its length");
  ExpectDataLoss(WithLength(0x8b1f, "{"), "the header claims 35615 bytes, the file holds 1 after its length");
}

TEST(SafetensorsHeaderTest, AFileWithoutTensorsIsValid) {
  EXPECT_OK(Parse(File("{}", 0)));
  ExpectDataLoss(File("{}", 1), "the header describes 0 bytes of data, the file holds 1");
}

TEST(SafetensorsHeaderTest, RefusesATruncatedFile) {
  ExpectDataLoss("", "the file has 0 bytes");
  ExpectDataLoss("123456\x01", "the file has 7 bytes");
  ExpectDataLoss(WithLength(100, "{}"),
                 "the header claims 100 bytes, the file holds 2 after its length; it is truncated");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[2]", "[0,8]"), "}"), 7),
                 "the header describes 8 bytes of data, the file holds 7; it is truncated");
}

TEST(SafetensorsHeaderTest, RefusesAHugeHeaderBeforeReadingIt) {
  ExpectDataLoss(WithLength(100'000'001, "{}"), "the header claims 100000001 bytes; at most 100000000");
  ExpectDataLoss(WithLength(~uint64_t{0}, "{}"), "the header claims 18446744073709551615 bytes; at most 100000000");
}

TEST(SafetensorsHeaderTest, RefusesOverlapsAndHoles) {
  const std::string a = Entry("a", "F32", "[2]", "[0,8]");
  ExpectDataLoss(File(absl::StrCat("{", a, ",", Entry("b", "F32", "[2]", "[4,12]"), "}"), 12),
                 "tensor b starts at byte 4 of the data, inside the tensor before it, which ends at 8");
  ExpectDataLoss(File(absl::StrCat("{", a, ",", Entry("b", "F32", "[2]", "[12,20]"), "}"), 20),
                 "tensor b starts at byte 12 of the data, leaving a hole after the tensor before it, which ends at 8");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[2]", "[4,12]"), "}"), 12), "tensor a starts at byte 4");
}

TEST(SafetensorsHeaderTest, RefusesSizesThatOverflow) {
  const std::string huge = "4611686018427387904";  // 2^62
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", absl::StrCat("[", huge, ",4]"), "[0,0]"), "}"), 0),
                 "/a/data_offsets: the byte size of shape [4611686018427387904, 4] overflows");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[1]", "[18446744073709551612,0]"), "}"), 0),
                 "/a/data_offsets/0: expected an integer from 0 to 4611686018427387904, found 18446744073709551612");
}

TEST(SafetensorsHeaderTest, RefusesOffsetsThatDoNotFitTheShape) {
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[2]", "[0,4]"), "}"), 4),
                 "/a/data_offsets: [0, 4] does not hold the 8 bytes of F32 [2]");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[2]", "[8,0]"), "}"), 8),
                 "/a/data_offsets: [8, 0] does not hold the 8 bytes of F32 [2]");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[2]", "[0]"), "}"), 8), "expected 2 offsets, found 1");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[-2]", "[0,8]"), "}"), 8),
                 "/a/shape/0: expected an integer from 0 to");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "}"), 4), "9 dimensions");
}

TEST(SafetensorsHeaderTest, AnotherElementTypeIsKeptByItsNameAndItsBytesAreCounted) {
  const std::string b = Entry("b", "U8", "[1]", "[2,3]");
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader parsed,
                       Parse(File(absl::StrCat("{", Entry("a", "F8_E4M3", "[2]", "[0,2]"), ",", b, "}"), 3)));
  EXPECT_EQ(parsed.entries[0].other_type, "F8_E4M3");
  EXPECT_EQ(parsed.entries[1].other_type, "");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F8_E4M3", "[1]", "[0,1]"), ",", b, "}"), 3), "leaving a hole");
  ExpectDataLoss(File(absl::StrCat("{", Entry("a", "F8_E4M3", "[1]", "[2,0]"), "}"), 2), "/a/data_offsets: the second");
}

// The format demands that { comes first; its reference implementation reads what JSON allows.
TEST(SafetensorsHeaderTest, WhiteSpaceMayComeFirst) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader parsed,
                       Parse(File(absl::StrCat("  \n\t\r{", Entry("a", "U8", "[1]", "[0,1]"), "} "), 1)));
  EXPECT_EQ(parsed.entries.size(), 1u);
}

TEST(SafetensorsHeaderTest, OtherMembersOfAnEntryArePassedOver) {
  ASSERT_OK_AND_ASSIGN(
      const SafetensorsHeader parsed,
      Parse(File(R"({"a":{"dtype":"U8","x":{"y":[NaN]},"shape":[1],"data_offsets":[0,1],"crc":1e999}})", 1)));
  EXPECT_EQ(parsed.entries.size(), 1u);
}

TEST(SafetensorsHeaderTest, RefusesMalformedObjects) {
  const std::string a = Entry("a", "F32", "[1]", "[0,4]");
  ExpectDataLoss(File(absl::StrCat("{", a, ",", a, "}"), 4), "/a: the key appears twice");
  ExpectDataLoss(File(absl::StrCat("\xef\xbb\xbf{", a, "}"), 4), "the header does not start with {");
  ExpectDataLoss(File("  ", 0), "the header does not start with {");
  ExpectDataLoss(File("", 0), "the header does not start with {");
  ExpectDataLoss(File(absl::StrCat("{", a, "} x"), 4), "not valid JSON");
  ExpectDataLoss(File(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "/a/data_offsets is missing");
  ExpectDataLoss(File(R"({"a":{"dtype":"F32","shape":[1],"offsets":[0,4]}})", 4), "/a/data_offsets is missing");
  ExpectDataLoss(File(R"({"a":7})", 0), "/a: expected an object, found a number");
  ExpectDataLoss(File(R"({"__metadata__":{"format":7}})", 0), "/__metadata__/format: expected a string");
  ExpectDataLoss(File(absl::StrCat("{", Entry("", "F32", "[1]", "[0,4]"), "}"), 4), "a tensor's name has 0 bytes");
  ExpectDataLoss(File(absl::StrCat("{", Entry(std::string(1025, 'n'), "F32", "[1]", "[0,4]"), "}"), 4),
                 "a tensor's name has 1025 bytes; expected 1 to 1024");
}

}  // namespace
}  // namespace reprise::models
