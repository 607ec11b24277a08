#include "data/artifact/format/container.h"

#include <cerrno>

#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// An array whose elements come in pieces of `piece` bytes.
ArraySource InPieces(ArrayInfo info, std::string bytes, size_t piece) {
  return {std::move(info), [bytes = std::move(bytes), piece](const ByteSink& sink) {
            for (size_t at = 0; at < bytes.size(); at += piece) {
              if (const absl::Status status = sink(absl::string_view(bytes).substr(at, piece)); !status.ok()) {
                return status;
              }
            }
            return absl::OkStatus();
          }};
}

std::vector<ArraySource> Arrays(size_t piece = 1000) {
  std::vector<ArraySource> arrays;
  arrays.push_back(OwningSourceOf({"/x/scalar", DType::kI64, {}}, "12345678"));
  arrays.push_back(OwningSourceOf({"/empty", DType::kI64, {0}}, ""));
  arrays.push_back(InPieces({"/a", DType::kU8, {2999}}, std::string(2999, 'z'), piece));
  return arrays;
}

std::string File() { return EncodeContainer(Arrays()).value(); }

TEST(ContainerTest, ReadsWhatWasWritten) {
  const std::string file = File();
  ASSERT_OK_AND_ASSIGN(const Container container, ParseContainer(file));
  ASSERT_EQ(container.arrays.size(), 3u);
  EXPECT_EQ(container.Find("/x/scalar").value()->bytes, "12345678");
  EXPECT_EQ(container.Find("/empty").value()->bytes, "");
  EXPECT_EQ(container.Find("/a").value()->bytes, std::string(2999, 'z'));
  EXPECT_EQ(container.Find("/a").value()->digest, Sha256(std::string(2999, 'z')));
  EXPECT_THAT(container.Find("/b"), StatusIs(kDataLoss, HasSubstr("it has no /b")));
}

TEST(ContainerTest, BytesDoNotDependOnPiecesOrderOrMedium) {
  const std::string file = File();
  EXPECT_EQ(EncodeContainer(Arrays(7)).value(), file);
  std::vector<ArraySource> reversed = Arrays();
  std::swap(reversed[0], reversed[2]);
  EXPECT_EQ(EncodeContainer(std::move(reversed)).value(), file);
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const auto written, files.Open("a", OpenMode::kCreate));
  ASSERT_OK(WriteContainer(Arrays(), *written));
  EXPECT_EQ(ReadFile(files, "a", 1 << 20).value(), file);
}

TEST(ContainerTest, PassesNothingToHdf5BeforeItsDigestWasVerified) {
  std::string file = File();
  int calls = 0;
  const auto find = [&](absl::string_view bytes) {
    ++calls;
    EXPECT_EQ(bytes.data(), file.data());
    return FindArrays(bytes);
  };
  ASSERT_OK(ParseContainer(file, find));
  EXPECT_EQ(calls, 1);
  for (size_t at = 0; at < file.size(); at += 97) {
    file[at] = static_cast<char>(file[at] ^ 4);
    EXPECT_THAT(ParseContainer(file, find), StatusIs(kDataLoss, HasSubstr("")));
    file[at] = static_cast<char>(file[at] ^ 4);
  }
  EXPECT_EQ(calls, 1);
}

TEST(ContainerTest, RefusesContentsThatDoNotFitTheRunDigest) {
  std::string file = File();
  file[file.find('z')] = 'y';
  UserBlock block = ParseUserBlock(file).value();
  block.body_digest = Sha256(absl::string_view(file).substr(512));
  file.replace(0, 512, EncodeUserBlock(block));
  EXPECT_THAT(ParseContainer(file), StatusIs(kDataLoss, HasSubstr("run digest")));
}

TEST(ContainerTest, RefusesForeignHdf5BehindAValidBlock) {
  const std::string body(3000, 'x');
  const UserBlock block = {.body_bytes = 3000, .body_digest = Sha256(body), .run_digest = {}};
  EXPECT_THAT(ParseContainer(EncodeUserBlock(block) + body), StatusIs(kDataLoss, HasSubstr("not an HDF5 file")));
}

TEST(WriteContainerTest, ReportsEveryCallThatFailsAndTheSourcesErrors) {
  for (int64_t call = 1; call <= 2; ++call) {
    FakeFileSystem files;
    files.FailCall(call, ENOSPC);
    ASSERT_OK_AND_ASSIGN(const auto file, files.Open("a", OpenMode::kCreate));
    EXPECT_THAT(WriteContainer(Arrays(), *file), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a")));
  }
  std::vector<ArraySource> arrays = Arrays();
  arrays[0].emit = [](const ByteSink&) { return absl::DataLossError("gone"); };
  EXPECT_THAT(EncodeContainer(std::move(arrays)), StatusIs(kDataLoss, HasSubstr("gone")));
}

}  // namespace
}  // namespace reprise::internal
