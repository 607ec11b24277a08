#ifndef DATA_ARTIFACT_TESTING_RESUME_FIXTURE_H_
#define DATA_ARTIFACT_TESTING_RESUME_FIXTURE_H_

// A run in "run" whose process is gone, to be resumed by a test.

#include <cstdint>
#include <string>
#include <utility>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

namespace reprise::testing {

inline constexpr int64_t kMany = 1 << 24;
inline constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

class ResumeFixture : public ::testing::Test {
 protected:
  absl::StatusOr<RunWriter> Resume(RunHeader header = ExampleHeader()) {
    return RunWriter::Resume(files_, "run", std::move(header), kOptions);
  }

  // Writes steps 1 and 2 and the checkpoint of step 2 as WriteExampleRun does, and dies with step 3 in its buffers.
  void WriteABeginning() {
    RunWriter writer = RunWriter::Create(files_, "run", ExampleHeader(), kOptions).value();
    EXPECT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
    EXPECT_OK(writer.CommitStep(2, ExampleStep(2, 3)));
    AddCheckpoint(writer);
    EXPECT_OK(writer.Flush());
  }

  static void AddCheckpoint(RunWriter& writer) {
    EXPECT_OK(writer.AddCheckpoint(2, "weights", ViewsOf(ExampleTensors(7, 100))));
    EXPECT_OK(writer.AddCheckpoint(2, "optimizer", ViewsOf(ExampleTensors(9, 200))));
  }

  std::string RunFile() { return ReadFile(files_, "run/run.h5", kMany).value(); }

  // Returns the bytes of a run of `steps` steps that was never interrupted.
  static std::string Undisturbed(int64_t steps) {
    FakeFileSystem files;
    EXPECT_OK(WriteExampleRun(files, "run", steps, kOptions));
    return ReadFile(files, "run/run.h5", kMany).value();
  }

  // Returns a segment of another run that holds step 3.
  static std::string SegmentOfAnotherRun() {
    FakeFileSystem files;
    RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), kOptions).value();
    EXPECT_OK(writer.CommitStep(3, ExampleStep(3, 1)));
    return ReadFile(files, "run/segments/E0001-000001.h5", kMany).value();
  }

  void Replace(const std::string& path, const std::string& bytes) {
    EXPECT_OK(files_.Unlink(path));
    EXPECT_OK(WriteFileAtomically(files_, path, bytes));
  }

  FakeFileSystem files_;
};

}  // namespace reprise::testing

#endif  // DATA_ARTIFACT_TESTING_RESUME_FIXTURE_H_
