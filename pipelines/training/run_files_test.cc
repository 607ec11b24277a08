#include "pipelines/training/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/versions.h"

namespace reprise {
namespace {

TEST(RunFilesTest, TheFirstLineOfAnExecutionHasHostTimeAndVersions) {
  ASSERT_OK(kernels::InitializeIsa());
  const std::string directory = ::testing::TempDir();
  ASSERT_OK_AND_ASSIGN(RunFiles files, RunFiles::Create(PosixFileSystem(), directory, 0, {}, [] { return 0.0; }));
  ASSERT_OK(files.DescribeExecution(3, 2, 17, absl::FromUnixSeconds(1700000000)));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(PosixFileSystem(), JoinPath(directory, "execution.jsonl"), 4096));
  const nlohmann::json line = nlohmann::json::parse(text);
  EXPECT_EQ(line.at("event"), "start");
  EXPECT_EQ(line.at("time"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(line.at("ranks"), 3);
  EXPECT_EQ(line.at("threads"), 2);
  const Versions versions = VersionsOfThisProgram();
  EXPECT_EQ(line.at("revision"), versions.revision);
  EXPECT_EQ(line.at("versions").at("reprise"), versions.product);
  EXPECT_EQ(line.at("versions").at("compiler"), versions.compiler);
  EXPECT_EQ(line.at("versions").at("hdf5"), versions.hdf5);
  EXPECT_EQ(line.at("versions").at("mpi"), versions.mpi);
}

// It is the first call.
TEST(RunFilesTest, AFailedLookUpOfTheExecutionsIsReportedAsWhatItIs) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  files.FailCall(files.calls(), EIO);
  const auto created = RunFiles::Create(files, "run", 0, {}, [] { return 0.0; });
  EXPECT_EQ(ExitCodeOf(created.status()), kExitIo) << created.status();
  EXPECT_EQ(created.status(), FileError(EIO, "stat", "run/execution.jsonl"));
}

class RunFilesInDirectoryTest : public ::testing::Test {
 protected:
  RunFilesInDirectoryTest() {
    std::string path = ::testing::TempDir() + "/XXXXXX";
    directory_ = ::mkdtemp(path.data());
    execution_ = directory_ + "/execution.jsonl";
  }

  absl::StatusOr<RunFiles> Create() {
    return RunFiles::Create(PosixFileSystem(), directory_, 0, {}, [] { return 0.0; });
  }

  static std::string Text(const std::string& path) { return ReadFile(PosixFileSystem(), path, 4096).value(); }

  std::string directory_, execution_;
};

TEST_F(RunFilesInDirectoryTest, OnlyTheOwnerReadsWhatNamesHosts) {
  ASSERT_OK(Create());
  struct stat info;
  ASSERT_EQ(::stat(execution_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// A copy of a run's directory made of hard links must stay as it was.
TEST_F(RunFilesInDirectoryTest, NothingIsAppendedToAnotherNameOfTheFile) {
  const std::string copy = directory_ + "/copy", line = "{\"event\":\"start\"}\n";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), copy, line));
  ASSERT_EQ(::link(copy.c_str(), execution_.c_str()), 0);
  ASSERT_EQ(::link(copy.c_str(), (directory_ + "/metrics.jsonl").c_str()), 0);
  ASSERT_OK_AND_ASSIGN(RunFiles files, Create());
  ASSERT_OK(files.DescribeExecution(1, 1, 0, absl::UnixEpoch()));
  rl::StepResults step;
  step.step = 1;
  ASSERT_OK(files.Record(step));
  EXPECT_EQ(Text(copy), line);
  EXPECT_TRUE(absl::StartsWith(Text(execution_), line));
  EXPECT_GT(Text(execution_).size(), line.size());
}

TEST_F(RunFilesInDirectoryTest, ADirectoryInThePlaceOfAFileIsNamedWithARemedy) {
  for (const std::string& name : {directory_ + "/metrics.jsonl", execution_}) {
    ASSERT_OK(CreateDirectories(PosixFileSystem(), name));
    EXPECT_THAT(Create(), testing::StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(name)));
    ASSERT_OK(PosixFileSystem().RemoveDirectory(name));
  }
  EXPECT_OK(Create());
}

TEST_F(RunFilesInDirectoryTest, NothingIsAppendedThroughASymbolicLink) {
  const std::string other = directory_ + "/other";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), other, ""));
  ASSERT_EQ(::symlink(other.c_str(), execution_.c_str()), 0);
  EXPECT_THAT(Create(), testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                          ::testing::HasSubstr("execution.jsonl is a symbolic link")));
  EXPECT_EQ(Text(other), "");
}

// Zeros that take no place on the disk, and more of them than any memory holds.
TEST_F(RunFilesInDirectoryTest, AFileThatIsTooLargeIsNotRead) {
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), execution_, ""));
  ASSERT_EQ(::truncate(execution_.c_str(), off_t{1} << 41), 0);
  EXPECT_OK(Create());
}

}  // namespace
}  // namespace reprise
