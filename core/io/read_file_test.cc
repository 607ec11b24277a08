#include "core/io/read_file.h"

#include <cerrno>
#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ReadFileTest, ReadsFilesUpToTheLimit) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "12345"));
  ASSERT_OK(WriteFileAtomically(files, "empty", ""));
  EXPECT_EQ(ReadFile(files, "a", 5).value(), "12345");
  EXPECT_EQ(ReadFile(files, "empty", 0).value(), "");
  EXPECT_THAT(ReadFile(files, "a", 4),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a: it has 5 bytes, more than the limit of 4")));
}

TEST(ReadFileTest, ReadsFilesWhoseSizeIsNotKnownBefore) {
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(PosixFileSystem(), "/proc/self/stat", 1 << 20));
  EXPECT_THAT(text, HasSubstr("read_file_test"));
  EXPECT_THAT(ReadFile(PosixFileSystem(), "/proc/self/stat", 10),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit of 10")));
}

TEST(ReadFileTest, ReportsEveryCallThatFails) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "12345"));
  const int64_t before = files.calls();
  ASSERT_OK(ReadFile(files, "a", 100));
  const int64_t calls = files.calls() - before;
  EXPECT_EQ(calls, 4);  // stat, open, read, close
  for (int64_t call = 0; call < calls; ++call) {
    files.FailCall(files.calls() + call, EIO);
    EXPECT_THAT(ReadFile(files, "a", 100), StatusIs(absl::StatusCode::kUnknown, HasSubstr("a")));
  }
}

TEST(ExistsTest, TellsAbsenceFromAnError) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", ""));
  EXPECT_TRUE(Exists(files, "a").value());
  EXPECT_FALSE(Exists(files, "b").value());
  files.FailCall(files.calls(), EIO);
  EXPECT_THAT(Exists(files, "a"), StatusIs(absl::StatusCode::kUnknown, HasSubstr("a")));
}

}  // namespace
}  // namespace reprise
