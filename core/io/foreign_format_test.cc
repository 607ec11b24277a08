#include "core/io/foreign_format.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kPointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4665a5f4b0d4f4d7a7c4e1f0f0f2b9f6f0f0d7f2c5f7a1b2c3d4e5f60718293a\nsize 996864\n";

TEST(ForeignFormatTest, NamesWhatStandsWhereAnotherFileWasExpected) {
  for (const auto& [begin, named] : std::vector<std::pair<std::string, std::string>>{
           {kPointer, "a pointer of Git LFS, not the file itself: fetch the file with `git lfs pull`"},
           {"/annex/objects/SHA256E-s5--ab", "`git annex get`"},
           {std::string("GGUF\x03\0\0\0", 8), "a GGUF file, which is not read"},
           {"\n <!DOCTYPE HTML><html>", "a web page"},
           {"<html lang=\"en\">", "a web page"},
           {"PK\x03\x04...", "a zip archive, as PyTorch's .bin and .pt files are"},
           {"\x1f\x8b\x08", "a file compressed by gzip: unpack it with gzip -d"},
           {"(\xb5/\xfd", "compressed by zstd: unpack it with zstd -d"},
           {{"\xfd"
             "7zXZ\0\0\x04",
             8},
            "compressed by xz: unpack it with xz -d"},
           {"BZh91AY&SY\x01", "compressed by bzip2: unpack it with bzip2 -d"},
           {"\x04\x22\x4d\x18", "compressed by lz4"},
           {"7z\xbc\xaf\x27\x1c", "compressed by 7-Zip"},
           {"\x1e{\"a\": 1}\n", "a JSON text sequence (RFC 7464), whose values begin with the byte 0x1e"},
           {"<?xml version=\"1.0\"?><Error>", "an XML document, as a store of files answers"},
           {{"\xff\xfe\0\0{\0\0\0", 8}, "UTF-32: convert it"},
           {{"{\0\0\0\"\0\0\0", 8}, "UTF-32: convert it"},
           {{"\0\0\0{\0\0\0\"", 8}, "UTF-32: convert it"},
           {{"PAR1\x15\x04\x15\0", 8}, "Parquet: convert it, for example in Python with pandas.read_parquet("},
           {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
           {"\x80\x04\x95", "a Python pickle"},
           {std::string("{\0\"\0", 4), "UTF-16: convert it"},
           {"\xff\xfe{", "UTF-16: convert it"}}) {
    EXPECT_THAT(ForeignFormat(begin), HasSubstr(named)) << begin;
  }
}

TEST(ForeignFormatTest, SaysNothingAboutOtherBytes) {
  for (const std::string& begin : {std::string(), std::string("{\"a\": 1}"), std::string("version 3"),
                                   std::string("GG"), std::string("\0\0\0\0", 4), std::string("BZh9 is no archive"),
                                   std::string("\x40\0\0\0\0\0\0\0{\"", 10), std::string("\x80\x41\0\0", 4),
                                   std::string("\x80\x02\0\0\0\0\0\0{", 9), std::string("\x1f\x8b\0\0\0\0\0\0{", 9)}) {
    EXPECT_EQ(ForeignFormat(begin), "");
  }
}

}  // namespace
}  // namespace reprise
