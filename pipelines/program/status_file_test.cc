#include "pipelines/program/status_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;

int link_error = 0;  // of a file system without links

std::string NewFolder() {
  std::string folder = ::testing::TempDir() + "/status-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  return folder;
}

TEST(StatusFileTest, TheFirstFileKeepsItsNameAlsoOnAFileSystemWithoutLinks) {
  for (const int error : {0, EPERM, ENOTSUP, ENOSYS}) {
    const std::string folder = NewFolder(), path = folder + "/status";
    link_error = error;
    EXPECT_TRUE(CreateWhole(path, "first"));
    EXPECT_FALSE(CreateWhole(path, "second"));
    link_error = 0;
    EXPECT_EQ(*ReadFile(PosixFileSystem(), path, 100), "first");
    EXPECT_THAT(PosixFileSystem().List(folder).value(), ElementsAre("status")) << "a temporary file is left";
  }
}

TEST(StatusFileTest, AnotherErrorOfALinkIsOne) {
  const std::string path = NewFolder() + "/status";
  link_error = EIO;
  EXPECT_FALSE(CreateWhole(path, "text"));
  link_error = 0;
  EXPECT_TRUE(CreateWhole(path, "text"));
}

}  // namespace
}  // namespace reprise

// Takes the place of libc's.
extern "C" int link(const char* from, const char* to) noexcept {
  errno = reprise::link_error;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_link, from, to));
}
