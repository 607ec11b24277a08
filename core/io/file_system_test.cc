// Tests that every FileSystem must pass, run on the operating system's and the fake one.

#include "core/io/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::TestWithParam;

constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kAlreadyExists = absl::StatusCode::kAlreadyExists;

class FileSystemTest : public TestWithParam<bool> {
 protected:
  FileSystemTest() {
    std::string folder = "/fake";
    if (GetParam()) {
      folder = ::testing::TempDir() + "/files-XXXXXX";
      EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    } else {
      EXPECT_OK(fake_.CreateDirectory(folder));
    }
    folder_ = folder;
  }

  FileSystem& files() { return GetParam() ? PosixFileSystem() : fake_; }
  std::string At(absl::string_view name) const { return name.empty() ? folder_ : JoinPath(folder_, name); }
  void Write(absl::string_view name, absl::string_view text) {
    ASSERT_OK_AND_ASSIGN(const auto file, files().Open(At(name), OpenMode::kCreate));
    ASSERT_OK(file->Append(text));
    ASSERT_OK(file->Close());
  }
  std::string Read(absl::string_view name) {
    const auto file = files().Open(At(name), OpenMode::kRead);
    EXPECT_OK(file);
    const auto text = (*file)->ReadAt(0, 100);
    EXPECT_OK(text);
    return *text;
  }

 private:
  FakeFileSystem fake_;
  std::string folder_;
};

INSTANTIATE_TEST_SUITE_P(All, FileSystemTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Posix" : "Fake"; });

TEST_P(FileSystemTest, ReadsWhatWasWritten) {
  ASSERT_OK_AND_ASSIGN(const auto file, files().Open(At("a"), OpenMode::kCreate, 0444));
  ASSERT_OK(file->Append("hello "));
  ASSERT_OK(file->Append("world"));
  ASSERT_OK(file->WriteAt(1, "E"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(file->ReadAt(4, 4).value(), "o wo");
  EXPECT_EQ(file->ReadAt(9, 100).value(), "ld");
  EXPECT_EQ(file->ReadAt(11, 100).value(), "");
  ASSERT_OK(file->Close());
  EXPECT_EQ(Read("a"), "hEllo world");
}

TEST_P(FileSystemTest, AppendsToAFileThatExistsAndToOneThatDoesNot) {
  for (absl::string_view text : {"one", "two"}) {
    ASSERT_OK_AND_ASSIGN(const auto file, files().Open(At("a"), OpenMode::kAppend));
    ASSERT_OK(file->Append(text));
    ASSERT_OK(file->Close());
  }
  EXPECT_EQ(Read("a"), "onetwo");
}

TEST_P(FileSystemTest, CreatesNothingOverAnExistingFile) {
  Write("a", "1");
  EXPECT_THAT(files().Open(At("a"), OpenMode::kCreate), StatusIs(kAlreadyExists, HasSubstr(At("a"))));
  EXPECT_EQ(Read("a"), "1");
}

TEST_P(FileSystemTest, RenamesAndLinksOnlyToFreeNames) {
  Write("a", "1");
  Write("b", "2");
  EXPECT_THAT(files().RenameNoReplace(At("a"), At("b")), StatusIs(kAlreadyExists, HasSubstr(At("b"))));
  EXPECT_THAT(files().Link(At("a"), At("b")), StatusIs(kAlreadyExists, HasSubstr(At("b"))));
  EXPECT_EQ(Read("b"), "2");
  ASSERT_OK(files().RenameNoReplace(At("a"), At("c")));
  ASSERT_OK(files().Link(At("c"), At("d")));
  EXPECT_THAT(files().List(At("")).value(), ElementsAre("b", "c", "d"));
  EXPECT_EQ(Read("d"), "1");
}

TEST_P(FileSystemTest, RemovesFilesAndEmptyDirectories) {
  ASSERT_OK(files().CreateDirectory(At("d")));
  EXPECT_THAT(files().CreateDirectory(At("d")), StatusIs(kAlreadyExists, HasSubstr(At("d"))));
  Write("d/a", "1");
  EXPECT_FALSE(files().RemoveDirectory(At("d")).ok());
  ASSERT_OK(files().Unlink(At("d/a")));
  ASSERT_OK(files().RemoveDirectory(At("d")));
  EXPECT_THAT(files().List(At("")).value(), IsEmpty());
}

TEST_P(FileSystemTest, DistinguishesFilesFromDirectories) {
  Write("a", "123");
  ASSERT_OK_AND_ASSIGN(const FileInfo file, files().Stat(At("a")));
  EXPECT_FALSE(file.is_directory);
  EXPECT_EQ(file.size, 3);
  ASSERT_OK_AND_ASSIGN(const FileInfo directory, files().Stat(At("")));
  EXPECT_TRUE(directory.is_directory);
  EXPECT_EQ(directory.size, 0);
  EXPECT_OK(files().SyncDirectory(At("")));
}

TEST_P(FileSystemTest, NamesTheMissingFile) {
  const auto missing = StatusIs(kNotFound, HasSubstr(At("no")));
  EXPECT_THAT(files().Open(At("no"), OpenMode::kRead), missing);
  EXPECT_THAT(files().Open(At("no/a"), OpenMode::kCreate), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files().Unlink(At("no")), missing);
  EXPECT_THAT(files().RemoveDirectory(At("no")), missing);
  EXPECT_THAT(files().List(At("no")), missing);
  EXPECT_THAT(files().Stat(At("no")), missing);
  EXPECT_THAT(files().SyncDirectory(At("no")), missing);
}

TEST(PosixFileSystemTest, RefusesToReadPipesAndDevices) {
  const std::string pipe = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto is_refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it is not a regular file but " + what));
  };
  EXPECT_THAT(PosixFileSystem().Open(pipe, OpenMode::kRead), is_refused("a pipe"));
  EXPECT_THAT(PosixFileSystem().Open("/dev/zero", OpenMode::kRead), is_refused("a device"));
}

// Runs in its own process, because the test itself prints.
TEST(PosixFileSystemDeathTest, NeverUsesAStandardDescriptorForAFile) {
  const auto open_without_descriptors = [] {
    for (const int descriptor : {0, 1, 2}) ::close(descriptor);
    const auto file = PosixFileSystem().Open(::testing::TempDir() + "/kept", OpenMode::kAppend);
    for (const int descriptor : {0, 1, 2}) {
      if (::fcntl(descriptor, F_GETFD) != -1) std::_Exit(1);
    }
    std::_Exit(file.ok() && (*file)->Append("x").ok() ? 0 : 2);
  };
  EXPECT_EXIT(open_without_descriptors(), ::testing::ExitedWithCode(0), "");
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(DirectoryOf("a/b"), "a");
  EXPECT_EQ(DirectoryOf("/a"), "/");
  EXPECT_EQ(DirectoryOf("a"), ".");
}

TEST(PosixFileSystemTest, LinksToWhatIsElsewhereAreNotWrittenOrRemoved) {
  std::string folder = ::testing::TempDir() + "/links-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  FileSystem& files = PosixFileSystem();
  ASSERT_OK(files.CreateDirectory(folder + "/elsewhere"));
  const std::string link = folder + "/link", log = folder + "/log";
  ASSERT_EQ(::symlink((folder + "/elsewhere").c_str(), link.c_str()), 0);
  ASSERT_EQ(::symlink((folder + "/elsewhere/file").c_str(), log.c_str()), 0);
  EXPECT_THAT(files.Open(log, OpenMode::kAppend),
              StatusIs(absl::StatusCode::kFailedPrecondition, log + " is a link, which is not followed: remove it"));
  EXPECT_THAT(files.List(folder + "/elsewhere").value(), IsEmpty());
  EXPECT_THAT(files.RemoveDirectory(link), StatusIs(kNotFound, HasSubstr("is not a directory")));
}

}  // namespace
}  // namespace reprise
