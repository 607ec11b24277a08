#include "core/io/optional_file.h"

#include <filesystem>

#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using reprise::testing::StatusIs;
using ::testing::HasSubstr;

class OptionalFileTest : public ::testing::Test {
 protected:
  OptionalFileTest() : path_(::testing::TempDir() + "/optional_file_test/file") {
    std::filesystem::remove_all(DirectoryOf(path_));
    std::filesystem::create_directories(DirectoryOf(path_));
  }

  const std::string path_;
};

TEST_F(OptionalFileTest, IsReadWhereItIs) {
  EXPECT_EQ(*ReadOptionalFile(path_, 9), std::nullopt);
  EXPECT_EQ(*ReadOptionalFile(path_ + "/in/none", 9), std::nullopt);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path_, "text"));
  EXPECT_EQ(*ReadOptionalFile(path_, 9), "text");
  std::filesystem::create_symlink("file", path_ + ".link");
  EXPECT_EQ(*ReadOptionalFile(path_ + ".link", 9), "text");
  EXPECT_THAT(ReadOptionalFile(path_, 3), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than the limit of 3")));
}

TEST_F(OptionalFileTest, IsRefusedWhereItWasLost) {
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path_, ""));
  EXPECT_THAT(ReadOptionalFile(path_, 9), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   path_ + " is empty, as a download that was cut off leaves: fetch "
                                                           "it again, or remove it"));
  std::filesystem::create_symlink("../blobs/ab12", path_ + ".link");
  const std::string nowhere =
      "cannot find " + path_ + ".link: it is a symbolic link to ../blobs/ab12, which does not exist";
  EXPECT_THAT(ReadOptionalFile(path_ + ".link", 9),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(nowhere + ": fetch the file again")));
  EXPECT_THAT(IsPresent(path_ + ".link"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(nowhere)));
  EXPECT_THAT(PosixFileSystem().Stat(path_ + ".link"), StatusIs(absl::StatusCode::kNotFound, nowhere));
}

}  // namespace
}  // namespace reprise
