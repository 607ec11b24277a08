// File systems that lack calls: those of FUSE, network mounts, and folders that a virtual machine shares. This
// program's definitions of the calls take the place of libc's.

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "core/io/atomic_file.h"
#include "core/io/file_lock.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The errors of the calls; 0: the call works.
struct Missing {
  int sync_of_directories = 0, sync_of_files = 0, lock = 0, rename_without_replacing = 0, link = 0, rename = 0;
};
Missing missing;
int create_before_rename = 0;  // the error with which another process would create the new name just before rename(2)

class MissingCallsTest : public ::testing::Test {
 protected:
  MissingCallsTest() {
    folder_ = ::testing::TempDir() + "/missing-XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~MissingCallsTest() override { missing = {}; }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) { return *ReadFile(PosixFileSystem(), At(name), 100); }

  std::string folder_;
};

TEST_F(MissingCallsTest, NamesAreAsDurableAsTheFileSystemMakesThem) {
  for (const int error : {EINVAL, ENOTSUP, ENOSYS, EBADF}) {
    missing.sync_of_directories = error;
    const std::string name = "file" + std::to_string(error);
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), At(name), "whole"));
    EXPECT_EQ(Read(name), "whole");
    EXPECT_OK(CreateDirectories(PosixFileSystem(), At("a" + std::to_string(error) + "/b")));
  }
}

TEST_F(MissingCallsTest, ADiskThatCannotSyncIsAnError) {
  missing.sync_of_directories = EIO;
  EXPECT_THAT(WriteFileAtomically(PosixFileSystem(), At("a"), "x"),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("cannot sync the directory " + folder_)));
  missing = {};
  missing.sync_of_files = EINVAL;
  EXPECT_EQ(ExitCodeOf(WriteFileAtomically(PosixFileSystem(), At("b"), "x")), kExitIo);
}

TEST_F(MissingCallsTest, ALockThatCannotBeTakenIsHeldAndExcludesNobody) {
  for (const int error : {ENOSYS, ENOLCK, ENOTSUP}) {
    missing.lock = error;
    std::string holder;
    ASSERT_OK_AND_ASSIGN(FileLock one, FileLock::Try(At("lock"), "one", &holder));
    ASSERT_OK_AND_ASSIGN(const FileLock two, FileLock::Try(At("lock"), "two", &holder));
    EXPECT_TRUE(one.is_held() && two.is_held());
    const FileLock moved = std::move(one);
    EXPECT_FALSE(moved.excludes() || two.excludes());
  }
  missing.lock = EIO;
  std::string holder;
  EXPECT_THAT(FileLock::Try(At("lock"), "", &holder).status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("cannot lock " + At("lock"))));
  missing.lock = 0;
  ASSERT_OK_AND_ASSIGN(const FileLock lock, FileLock::Try(At("lock"), "", &holder));
  EXPECT_TRUE(lock.is_held() && lock.excludes());
}

TEST_F(MissingCallsTest, FilesGetTheirNamesWithoutTheFlagAndWithoutLinks) {
  FileSystem& files = PosixFileSystem();
  missing.rename_without_replacing = EINVAL;
  for (const int error : {0, EPERM, ENOTSUP, ENOSYS}) {
    missing.link = error;
    const std::string name = "file" + std::to_string(error);
    const auto is_taken = StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(At(name)));
    ASSERT_OK(WriteFileAtomically(files, At(name), "first"));
    EXPECT_THAT(WriteFileAtomically(files, At(name), "second"), is_taken);
    EXPECT_EQ(Read(name), "first");
    ASSERT_OK(files.CreateDirectory(At("d" + name)));
    ASSERT_OK(files.RenameNoReplace(At("d" + name), At("e" + name)));
    EXPECT_THAT(files.RenameNoReplace(At("e" + name), At(name)), is_taken);
    ASSERT_OK(files.RemoveDirectory(At("e" + name)));
    ASSERT_OK(files.Unlink(At(name)));
    EXPECT_THAT(files.List(folder_).value(), ElementsAre()) << "a temporary file is left";
  }
}

// Another process must not be able to take the name between a check and the renaming.
TEST_F(MissingCallsTest, WithoutLinksANameIsReservedBeforeItIsReplaced) {
  FileSystem& files = PosixFileSystem();
  missing.rename_without_replacing = missing.link = ENOSYS;
  create_before_rename = 0;
  ASSERT_OK(WriteFileAtomically(files, At("a"), "whole"));
  EXPECT_EQ(create_before_rename, EEXIST);
  EXPECT_EQ(Read("a"), "whole");
  missing.rename = EIO;
  EXPECT_EQ(ExitCodeOf(files.RenameNoReplace(At("a"), At("b"))), kExitIo);
  EXPECT_THAT(files.List(folder_).value(), ElementsAre("a")) << "the reservation is left";
  EXPECT_EQ(Read("a"), "whole");
}

}  // namespace
}  // namespace reprise

extern "C" {

int fsync(int fd) {
  struct stat info;
  const bool is_directory = ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  errno = is_directory ? reprise::missing.sync_of_directories : reprise::missing.sync_of_files;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}

int flock(int fd, int operation) noexcept {
  errno = reprise::missing.lock;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_flock, fd, operation));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  errno = reprise::missing.rename_without_replacing;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int link(const char* from, const char* to) noexcept {
  errno = reprise::missing.link;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_link, from, to));
}

int rename(const char* from, const char* to) noexcept {
  const int created = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  reprise::create_before_rename = created < 0 ? errno : 0;
  if (created >= 0) {
    ::close(created);
    ::unlink(to);
  }
  errno = reprise::missing.rename;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"
