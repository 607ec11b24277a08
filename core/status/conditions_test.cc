#include "core/status/conditions.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(ExitCodeTest, FollowsTheDocumentedTable) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 64);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 64);
  EXPECT_EQ(ExitCodeOf(absl::AlreadyExistsError("")), 64);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 64);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), 65);
  EXPECT_EQ(ExitCodeOf(absl::UnimplementedError("")), 65);
  EXPECT_EQ(ExitCodeOf(absl::AbortedError("")), 65);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 65);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 70);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("")), 70);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 74);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 75);
}

TEST(FileErrorTest, IsAnInputErrorWhenTheFileIsMissingAndAnIoErrorWhenTheDiskFails) {
  EXPECT_EQ(ExitCodeOf(FileError(ENOENT, "open", "/a/b")), 64);
  EXPECT_EQ(ExitCodeOf(FileError(EEXIST, "create", "/a/b")), 64);
  for (int error : {ENOSPC, EDQUOT, EACCES, EROFS, EIO, ESTALE}) {
    EXPECT_EQ(ExitCodeOf(FileError(error, "write", "/a/b")), 74) << error;
  }
}

TEST(FileErrorTest, IsAWrongPathWhereTheNameCannotBeOne) {
  for (int error : {ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ENXIO}) {
    EXPECT_EQ(ExitCodeOf(FileError(error, "open", "/a/b")), 64) << error;
    EXPECT_FALSE(IsFileError(FileError(error, "open", "/a/b"))) << error;
  }
  EXPECT_EQ(FileError(ENOTDIR, "find", "/a/b").message(),
            "cannot find /a/b: Not a directory; a part of the path is a file: correct the path");
}

TEST(FileErrorTest, NamesActionPathAndCause) {
  EXPECT_EQ(FileError(ENOSPC, "write", "/a/b").message(), "cannot write /a/b: No space left on device");
}

TEST(WithContextTest, KeepsCodeAndPayload) {
  const absl::Status status = WithContext(FileError(EIO, "read", "x"), "step 3");
  EXPECT_EQ(status.message(), "step 3: cannot read x: Input/output error");
  EXPECT_EQ(ExitCodeOf(status), 74);
  EXPECT_TRUE(WithContext(absl::OkStatus(), "step 3").ok());
}

}  // namespace
}  // namespace reprise
