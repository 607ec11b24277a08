#include "core/io/fake_file_system.h"

#include <cerrno>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FakeFileSystemTest, FailsTheCallThatItWasToldToAndTearsItsWrite) {
  FakeFileSystem files;
  files.FailCall(2, EIO);
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open("a", OpenMode::kCreate));
  EXPECT_OK(file->Append("12"));
  EXPECT_THAT(file->Append("3456"), StatusIs(absl::StatusCode::kUnknown, _));
  EXPECT_OK(file->Append("7"));
  EXPECT_EQ(file->ReadAt(0, 10).value(), "12347");
  EXPECT_THAT(files.log(), ElementsAre("open a", "write a", "write a", "write a", "read a"));
}

TEST(FakeFileSystemTest, AFullDiskStaysFullAndCanBeReadAndCleared) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open("a", OpenMode::kCreate));
  files.FailCall(1, ENOSPC, /*persistent=*/true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(file->Append("1"), StatusIs(absl::StatusCode::kResourceExhausted, _));
  }
  EXPECT_OK(file->ReadAt(0, 1));
  EXPECT_OK(files.Unlink("a"));
}

TEST(FakeFileSystemTest, LosesWhatWasNotSyncedWhenPowerFails) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open("a", OpenMode::kCreate));
  ASSERT_OK(file->Append("1"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Append("2"));
  ASSERT_OK(files.SyncDirectory("."));
  ASSERT_OK(files.Open("b", OpenMode::kCreate));
  files.LosePower();
  EXPECT_THAT(files.List(".").value(), ElementsAre("a"));
  EXPECT_EQ(files.Open("a", OpenMode::kRead).value()->ReadAt(0, 10).value(), "1");
}

TEST(FakeFileSystemTest, LosesTheFilesOfADirectoryWhoseOwnNameWasNotSynced) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("d"));
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open("d/a", OpenMode::kCreate));
  ASSERT_OK(file->Sync());
  ASSERT_OK(files.SyncDirectory("d"));
  files.LosePower();
  EXPECT_THAT(files.List(".").value(), IsEmpty());
  EXPECT_FALSE(files.Stat("d/a").ok());
}

TEST(FakeFileSystemTest, ARenameThatWasNotSyncedIsUndoneWhenPowerFails) {
  FakeFileSystem files;
  ASSERT_OK(files.Open("a", OpenMode::kCreate));
  ASSERT_OK(files.SyncDirectory("."));
  ASSERT_OK(files.RenameNoReplace("a", "b"));
  files.LosePower();
  EXPECT_THAT(files.List(".").value(), ElementsAre("a"));
}

}  // namespace
}  // namespace reprise
