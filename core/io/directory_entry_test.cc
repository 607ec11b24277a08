#include "core/io/directory_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

std::string NewDirectory() {
  std::string path = ::testing::TempDir() + "/XXXXXX";
  return ::mkdtemp(path.data()) == nullptr ? "" : path;
}

TEST(DirectoryEntryTest, SeesLinksWhereverTheyLead) {
  const std::string directory = NewDirectory(), file = directory + "/file", link = directory + "/link";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), file, "x"));
  EXPECT_FALSE(LookUp(directory + "/none").value().exists);
  EXPECT_FALSE(LookUp(file + "/none").value().exists);
  for (const std::string& target : {file, directory, std::string("nowhere")}) {
    ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
    EXPECT_TRUE(LookUp(link).value().exists);
    EXPECT_TRUE(LookUp(link).value().is_link);
    EXPECT_THAT(CheckIsNoLink(link),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(link + " is a symbolic link")));
    ASSERT_EQ(::unlink(link.c_str()), 0);
  }
  EXPECT_OK(CheckIsNoLink(link));
  EXPECT_OK(CheckIsNoLink(file));
  EXPECT_OK(CheckIsNoLink(directory));
}

TEST(DirectoryEntryTest, RefusesToWriteOverWhatIsOfAnotherKind) {
  const std::string directory = NewDirectory(), file = directory + "/file", pipe = directory + "/pipe";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), file, "x"));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("link", (directory + "/link").c_str()), 0);  // which leads to itself
  EXPECT_OK(CheckTakesFile(directory + "/none"));
  EXPECT_OK(CheckTakesFile(file));
  EXPECT_OK(CheckTakesDirectory(directory + "/none"));
  EXPECT_OK(CheckTakesDirectory(directory));
  const auto is_refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(what));
  };
  EXPECT_THAT(CheckTakesFile(directory), is_refused(directory + " is a directory, and a file is written there"));
  EXPECT_THAT(CheckTakesFile(pipe), is_refused(pipe + " is a pipe, a device or a socket"));
  EXPECT_THAT(CheckTakesDirectory(file), is_refused(file + " is no directory, and files are written below it"));
  EXPECT_THAT(CheckTakesDirectory(pipe), is_refused(pipe + " is no directory"));
  for (const auto check : {CheckTakesFile, CheckTakesDirectory}) {
    EXPECT_THAT(check(directory + "/link"), is_refused("/link is a symbolic link, which is not followed"));
  }
}

TEST(RenameOverTest, ReplacesTheNameAndNotTheFileThatHadIt) {
  const std::string directory = NewDirectory(), old = directory + "/old", other = directory + "/other";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), old, "old"));
  ASSERT_EQ(::link(old.c_str(), other.c_str()), 0);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), directory + "/new", "new"));
  ASSERT_OK(RenameOver(directory + "/new", old));
  EXPECT_EQ(ReadFile(PosixFileSystem(), old, 9).value_or(""), "new");
  EXPECT_EQ(ReadFile(PosixFileSystem(), other, 9).value_or(""), "old");
  EXPECT_THAT(RenameOver(directory + "/none", old), StatusIs(absl::StatusCode::kNotFound, HasSubstr(old)));
}

TEST(DirectoryEntryTest, CountsTheNamesOfAFile) {
  const std::string directory = NewDirectory(), file = directory + "/file";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), file, "x"));
  EXPECT_EQ(LookUp(file).value().names, 1);
  ASSERT_EQ(::link(file.c_str(), (directory + "/second").c_str()), 0);
  EXPECT_EQ(LookUp(file).value().names, 2);
}

}  // namespace
}  // namespace reprise
