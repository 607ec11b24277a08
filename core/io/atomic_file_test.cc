#include "core/io/atomic_file.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr int64_t kCalls = 6;  // open, write, sync, close, rename, syncdir

TEST(WriteFileAtomicallyTest, SyncsTheContentsBeforeTheNameAndTheNameBeforeItReturns) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "text"));
  const std::string temporary = R"(a\.tmp-[-0-9a-f]+)";
  EXPECT_THAT(files.log(), ElementsAre(MatchesRegex("open " + temporary), MatchesRegex("write " + temporary),
                                       MatchesRegex("sync " + temporary), MatchesRegex("close " + temporary),
                                       MatchesRegex("rename " + temporary + " a"), "syncdir ."));
}

TEST(WriteFileAtomicallyTest, ReportsEveryCallThatFailsAndLeavesNothingHalfWritten) {
  for (int error : {EIO, ENOSPC}) {
    for (int64_t call = 0; call < kCalls; ++call) {
      FakeFileSystem files;
      files.FailCall(call, error);
      const absl::Status status = WriteFileAtomically(files, "a", "some text");
      EXPECT_EQ(status.code(), error == EIO ? absl::StatusCode::kUnknown : absl::StatusCode::kResourceExhausted);
      const bool renamed = call == kCalls - 1;
      EXPECT_EQ(files.List(".").value().size(), renamed ? 1u : 0u) << files.log().back();
      if (renamed) {
        EXPECT_EQ(ReadFile(files, "a", 100).value(), "some text");
      }
    }
  }
}

TEST(WriteFileAtomicallyTest, LeavesAllOrNothingWheneverPowerFails) {
  for (int64_t call = 0; call <= kCalls; ++call) {
    FakeFileSystem files;
    // The remaining calls fail too, because the process has ended.
    files.FailCall(call, EIO, /*persistent=*/true);
    const absl::Status status = WriteFileAtomically(files, "a", "some text");
    files.LosePower();
    files.FailCall(-1, 0);
    EXPECT_EQ(status.ok(), call == kCalls);
    if (status.ok()) {
      EXPECT_EQ(ReadFile(files, "a", 100).value(), "some text");
    } else {
      EXPECT_THAT(files.List(".").value(), IsEmpty());
    }
  }
}

TEST(WriteFileAtomicallyTest, NeverReplacesAFile) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "first"));
  EXPECT_THAT(WriteFileAtomically(files, "a", "second"), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("a")));
  EXPECT_EQ(ReadFile(files, "a", 100).value(), "first");
  EXPECT_THAT(files.List(".").value(), ElementsAre("a"));
}

TEST(WriteFileAtomicallyTest, WritesThroughTheOperatingSystemReadOnlyFilesToo) {
  const std::string path = ::testing::TempDir() + "/read_only";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path, "text", kReadOnly));
  EXPECT_EQ(ReadFile(PosixFileSystem(), path, 100).value(), "text");
  EXPECT_THAT(WriteFileAtomically(PosixFileSystem(), path, "text", kReadOnly),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(path)));
}

TEST(AtomicFileTest, RemovesItsTemporaryFileWhenItIsAbandoned) {
  FakeFileSystem files;
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(files, "a"));
    ASSERT_OK(file.file().Append("text"));
    EXPECT_EQ(files.List(".").value().size(), 1u);
  }
  EXPECT_THAT(files.List(".").value(), IsEmpty());
}

TEST(CreateDirectoriesTest, CreatesMissingParentsDurably) {
  FakeFileSystem files;
  ASSERT_OK(CreateDirectories(files, "/a/b/c"));
  files.LosePower();
  EXPECT_TRUE(files.Stat("/a/b/c").value().is_directory);
  EXPECT_OK(CreateDirectories(files, "/a/b/c"));
}

TEST(CreateDirectoriesTest, RefusesAFileInTheWay) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", ""));
  EXPECT_THAT(
      CreateDirectories(files, "a/b"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a: it is a file; move it away, or choose another path")));
}

TEST(CreateDirectoriesTest, RefusesALinkThatLeadsNowhere) {
  const std::string link = absl::StrCat(::testing::TempDir(), "/leads_nowhere");
  std::filesystem::remove(link);
  std::filesystem::create_symlink("nowhere", link);
  EXPECT_THAT(CreateDirectories(PosixFileSystem(), link + "/b"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(link + ": it is a link that leads nowhere")));
}

TEST(CreateDirectoriesTest, RefusesAFileSystemThatTakesNone) {
  EXPECT_THAT(CreateDirectories(PosixFileSystem(), "/proc/runs/a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot create the directory /proc/runs: /proc is of a file system that takes no new "
                       "directories; choose another path"));
}

TEST(CreateDirectoriesTest, ReportsEveryCallThatFails) {
  FakeFileSystem counted;
  ASSERT_OK(CreateDirectories(counted, "/a/b"));
  for (int64_t call = 0; call < counted.calls(); ++call) {
    FakeFileSystem files;
    files.FailCall(call, EIO);
    EXPECT_THAT(CreateDirectories(files, "/a/b"), StatusIs(absl::StatusCode::kUnknown, HasSubstr("/")));
  }
}

TEST(CreateDirectoriesTest, ReportsAFailingStat) {
  FakeFileSystem files;
  files.Kill(0, /*torn=*/false);
  EXPECT_THAT(CreateDirectories(files, "a/b"), StatusIs(absl::StatusCode::kAborted, ::testing::_));
}

// Somebody else's file must not be taken for one that a killed process left.
TEST(AtomicFileTest, ANameIsTemporaryOnlyIfItEndsAsTheNamesMadeHere) {
  EXPECT_TRUE(IsTemporaryName(TemporaryName("a/b")));
  EXPECT_EQ(FinalName(TemporaryName("a/b")), "a/b");
  for (const std::string name : {"b", "b.tmp", "b.tmp-", "b.tmp-old", "b.tmp-1", "b.tmp-1-2", "b.tmp-1-2-3-4",
                                 "b.tmp-1-2-", "b.tmp-1-x-3", "b.tmp-1-2-3.txt", "b.tmp-a-2-3"}) {
    EXPECT_FALSE(IsTemporaryName(name)) << name;
  }
}

}  // namespace
}  // namespace reprise
