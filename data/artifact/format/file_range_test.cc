#include "data/artifact/format/file_range.h"

#include <cerrno>
#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

class CopyRangeTest : public ::testing::Test {
 protected:
  CopyRangeTest() { EXPECT_OK(WriteFileAtomically(files_, "a", "0123456789")); }

  absl::Status Copy(const FileRange& range) {
    copied_.clear();
    return CopyRange(files_, range, [this](absl::string_view piece) {
      copied_.append(piece.data(), piece.size());
      return absl::OkStatus();
    });
  }

  FakeFileSystem files_;
  std::string copied_;
};

TEST_F(CopyRangeTest, PassesTheBytesToTheSink) {
  EXPECT_OK(Copy({.path = "a", .offset = 2, .size = 3, .sha256 = Sha256("234")}));
  EXPECT_EQ(copied_, "234");
}

TEST_F(CopyRangeTest, CutsLongRangesIntoPieces) {
  const std::string text(9'000'000, 'x');
  ASSERT_OK(WriteFileAtomically(files_, "long", text));
  EXPECT_OK(Copy({.path = "long", .offset = 0, .size = 9'000'000, .sha256 = Sha256(text)}));
  EXPECT_EQ(copied_, text);
}

TEST_F(CopyRangeTest, RefusesBytesThatHaveChanged) {
  EXPECT_THAT(Copy({.path = "a", .offset = 2, .size = 3, .sha256 = Sha256("235")}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a: it is damaged: its bytes 2 to 5")));
  EXPECT_THAT(Copy({.path = "a", .offset = 8, .size = 3, .sha256 = Sha256("89a")}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a: it was truncated")));
}

TEST_F(CopyRangeTest, ReportsEveryCallThatFails) {
  for (int64_t call = 0; call < 3; ++call) {  // open, read, close
    files_.FailCall(files_.calls() + call, EIO);
    EXPECT_THAT(Copy({.path = "a", .offset = 2, .size = 3, .sha256 = Sha256("234")}),
                StatusIs(absl::StatusCode::kUnknown, HasSubstr("a")));
  }
}

TEST(ReadWholeTest, ReturnsAFileOfItsSizeAndDigest) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "0123"));
  EXPECT_EQ(ReadWhole(files, {.path = "a", .offset = 0, .size = 4, .sha256 = Sha256("0123")}).value(), "0123");
  EXPECT_THAT(ReadWhole(files, {.path = "a", .offset = 0, .size = 4, .sha256 = Sha256("0124")}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a: it is damaged: its SHA-256")));
}

TEST(ReadWholeTest, ReadsNothingOfAFileOfAnotherSize) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "0123"));
  for (const int64_t size : {0, 3, 5}) {
    EXPECT_THAT(ReadWhole(files, {.path = "a", .offset = 0, .size = size, .sha256 = Sha256("012")}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a: it is damaged: it has 4 bytes instead of ")));
    EXPECT_EQ(files.log().back(), "stat a");
  }
}

}  // namespace
}  // namespace reprise::internal
