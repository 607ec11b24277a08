// Every file-system call of a run fails once: the error is reported, and every file with its final name is whole.

#include <cerrno>
#include <string>

#include "absl/strings/match.h"
#include "core/io/fake_file_system.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using testing::WriteExampleRun;

constexpr int64_t kSteps = 2;
constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

int64_t CallsOfARun() {
  FakeFileSystem files;
  EXPECT_OK(WriteExampleRun(files, "run", kSteps, kOptions));
  return files.calls();
}

// Checks that every file with a final name opens.
void ExpectWhole(FakeFileSystem& files) {
  files.FailCall(-1, 0);
  const auto segments = files.List("run/segments");
  if (segments.ok()) {
    for (const std::string& name : *segments) {
      if (absl::EndsWith(name, ".h5")) {
        EXPECT_OK(RunReader::Open(files, "run/segments/" + name));
      }
    }
  }
  if (files.Stat("run/run.h5").ok()) {
    const auto reader = RunReader::Open(files, "run/run.h5");
    ASSERT_OK(reader);
    EXPECT_EQ(reader->steps().size(), static_cast<size_t>(kSteps));
    EXPECT_OK(reader->ReadCheckpoint(2, "weights"));
    EXPECT_OK(reader->ReadCheckpoint(2, "optimizer"));
  }
}

TEST(RunFaultsTest, AFullDiskIsReportedFromEveryCallAndLeavesNothingHalfWritten) {
  const int64_t calls = CallsOfARun();
  EXPECT_GT(calls, 60);
  for (int64_t call = 0; call < calls; ++call) {
    FakeFileSystem files;
    files.FailCall(call, ENOSPC, /*persistent=*/true);
    const auto digests = WriteExampleRun(files, "run", kSteps, kOptions);
    ASSERT_EQ(digests.status().code(), absl::StatusCode::kResourceExhausted) << files.log()[call];
    EXPECT_EQ(ExitCodeOf(digests.status()), kExitIo);
    ExpectWhole(files);
  }
}

TEST(RunFaultsTest, ADiskErrorIsReportedFromEveryCallAndLosesNothingThatWasFlushed) {
  const int64_t calls = CallsOfARun();
  for (int64_t call = 0; call < calls; ++call) {
    FakeFileSystem files;
    files.FailCall(call, EIO);
    const auto digests = WriteExampleRun(files, "run", kSteps, kOptions);
    ASSERT_TRUE(IsFileError(digests.status())) << files.log()[call] << digests.status();
    files.LosePower();
    ExpectWhole(files);
  }
}

TEST(RunFaultsTest, AfterAnErrorEveryCallReturnsThatError) {
  FakeFileSystem files;
  RunWriter writer = RunWriter::Create(files, "run", testing::ExampleHeader(), kOptions).value();
  files.FailCall(files.calls() + 1, EIO);
  EXPECT_FALSE(writer.CommitStep(1, testing::ExampleStep(1, 1)).ok());
  EXPECT_TRUE(IsFileError(writer.CommitStep(2, testing::ExampleStep(2, 1))));
  EXPECT_TRUE(IsFileError(writer.Flush()));
  EXPECT_TRUE(IsFileError(writer.Finish().status()));
}

TEST(RunFaultsTest, ACreateThatFailedCanBeRepeated) {
  const int64_t calls = [] {
    FakeFileSystem files;
    EXPECT_OK(RunWriter::Create(files, "run", testing::ExampleHeader()));
    return files.calls();
  }();
  for (int64_t call = 0; call < calls; ++call) {
    FakeFileSystem files;
    files.FailCall(call, EIO);
    EXPECT_FALSE(RunWriter::Create(files, "run", testing::ExampleHeader()).ok());
    EXPECT_OK(RunWriter::Create(files, "run", testing::ExampleHeader())) << call;
  }
}

}  // namespace
}  // namespace reprise
