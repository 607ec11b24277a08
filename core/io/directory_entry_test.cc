#include "core/io/directory_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
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

TEST(DirectoryEntryTest, CountsTheNamesOfAFile) {
  const std::string directory = NewDirectory(), file = directory + "/file";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), file, "x"));
  EXPECT_EQ(LookUp(file).value().names, 1);
  ASSERT_EQ(::link(file.c_str(), (directory + "/second").c_str()), 0);
  EXPECT_EQ(LookUp(file).value().names, 2);
}

}  // namespace
}  // namespace reprise
