#include "models/files/files.h"

#include <filesystem>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() : directory_(::testing::TempDir() + "/files_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  const std::string directory_;
};

TEST_F(FilesTest, WritesThePiecesInOrderAndReplacesWhatWasThere) {
  ASSERT_OK(WriteFileAtomically(Path("a"), {"old and long"}));
  ASSERT_OK(WriteFileAtomically(Path("a"), {"new", "", "er"}));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadSmallFile(Path("a"), 5));
  EXPECT_EQ(bytes, "newer");
}

TEST_F(FilesTest, LeavesNothingBehindWhenTheRenameFails) {
  std::filesystem::create_directories(Path("a/b"));
  EXPECT_FALSE(WriteFileAtomically(Path("a"), {"x"}).ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) EXPECT_EQ(entry.path(), Path("a"));
}

TEST_F(FilesTest, ErrorsNameTheFile) {
  EXPECT_THAT(ReadSmallFile(Path("none"), 9),
              StatusIs(absl::StatusCode::kNotFound, "cannot open " + Path("none") + ": No such file or directory"));
  EXPECT_THAT(ReadSmallFile(directory_, 9),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("not a regular file")));
  ASSERT_OK(WriteFileAtomically(Path("a"), {"0123456789"}));
  EXPECT_THAT(ReadSmallFile(Path("a"), 9),
              StatusIs(absl::StatusCode::kInvalidArgument, Path("a") + ": 10 bytes; at most 9 are read"));
  EXPECT_THAT(WriteFileAtomically(Path("no/such"), {"x"}),
              StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("cannot create " + Path("no/such"))));
}

}  // namespace
}  // namespace reprise::models
