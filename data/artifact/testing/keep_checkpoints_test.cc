// Runs that keep only their newest checkpoints; run_kill_test.cc tests every moment at which such a run may die.

#include <algorithm>
#include <set>
#include <string>

#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using testing::ExampleHeader;
using testing::ExampleStep;
using testing::ExampleTensors;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ViewsOf;

constexpr int64_t kMany = 1 << 24;

RunWriterOptions Keeping(int64_t checkpoints, int64_t segment_steps = 1) {
  return {.segment_steps = segment_steps, .keep_checkpoints = checkpoints, .max_inline_checkpoint_bytes = 500};
}

// Writes a small group, and one that stays a file.
void WriteCheckpoint(int64_t step, int64_t seed, RunWriter& writer) {
  ASSERT_OK(writer.AddCheckpoint(step, "small", ViewsOf(ExampleTensors(seed, 20))));
  ASSERT_OK(writer.AddCheckpoint(step, "large", ViewsOf(ExampleTensors(seed, 200))));
}

void WriteSteps(int64_t first, int64_t last, RunWriter& writer) {
  for (int64_t step = first; step <= last; ++step) {
    ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
    WriteCheckpoint(step, step, writer);
  }
  ASSERT_OK(writer.Flush());
}

int64_t FilesIn(FakeFileSystem& files, const std::string& directory) {
  const auto names = files.List(directory);
  return names.ok() ? static_cast<int64_t>(names->size()) : 0;
}

std::set<int64_t> StepsOf(const RunReader& run) {
  std::set<int64_t> steps;
  for (const CheckpointInfo& checkpoint : run.checkpoints()) steps.insert(checkpoint.step);
  return steps;
}

TEST(KeepCheckpointsTest, ARunHoldsOnlyTheNewestWhileInProgressAndAtTheEnd) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), Keeping(2)));
  for (int64_t step = 1; step <= 6; ++step) {
    WriteSteps(step, step, writer);
    EXPECT_EQ(FilesIn(files, "run/checkpoints"), 2 * std::min<int64_t>(step, 2));
  }
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(FilesIn(files, "run/checkpoints"), 2);  // the large ones
  ASSERT_OK_AND_ASSIGN(const RunReader run, RunReader::Open(files, "run/run.h5"));
  EXPECT_THAT(StepsOf(run), ElementsAre(5, 6));
  for (const int64_t step : {5, 6}) {
    for (const char* group : {"small", "large"}) EXPECT_OK(run.ReadCheckpoint(step, group)) << step << group;
  }
  EXPECT_EQ(run.steps().size(), 6u);
}

TEST(KeepCheckpointsTest, TheBytesDoNotDependOnResumingOrSegments) {
  std::string expected;
  for (const int64_t segment_steps : {1, 3, 16}) {
    FakeFileSystem files;
    {
      ASSERT_OK_AND_ASSIGN(RunWriter writer,
                           RunWriter::Create(files, "run", ExampleHeader(), Keeping(2, segment_steps)));
      WriteSteps(1, segment_steps == 16 ? 5 : 4, writer);
    }
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Resume(files, "run", ExampleHeader(), Keeping(2, segment_steps)));
    EXPECT_TRUE(writer.HasCheckpoint(1, "small"));  // it had this checkpoint earlier
    WriteCheckpoint(4, 4, writer);                  // writes nothing new
    WriteSteps(writer.last_step() + 1, 6, writer);
    ASSERT_OK(writer.Finish());
    const std::string bytes = ReadFile(files, "run/run.h5", kMany).value();
    if (expected.empty()) expected = bytes;
    EXPECT_EQ(bytes, expected);
  }
}

TEST(KeepCheckpointsTest, KeepsAllWhenThereAreFewer) {
  std::string all, some;
  for (std::string* bytes : {&all, &some}) {
    FakeFileSystem files;
    ASSERT_OK_AND_ASSIGN(RunWriter writer,
                         RunWriter::Create(files, "run", ExampleHeader(), Keeping(bytes == &all ? 0 : 3)));
    WriteSteps(1, 3, writer);
    ASSERT_OK(writer.Finish());
    *bytes = ReadFile(files, "run/run.h5", kMany).value();
  }
  EXPECT_EQ(some, all);
}

// Several checkpoints may share a file: weights that did not change.
TEST(KeepCheckpointsTest, AFileThatANewerCheckpointSharesStays) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), Keeping(1)));
  const auto commit = [&](int64_t step, int64_t seed) {
    ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
    WriteCheckpoint(step, seed, writer);
    ASSERT_OK(writer.Flush());
    EXPECT_EQ(FilesIn(files, "run/checkpoints"), 2) << step;
  };
  commit(1, 7), commit(2, 7), commit(3, 8), commit(4, 7), commit(5, 8), commit(6, 7);
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const RunReader run, RunReader::Open(files, "run/run.h5"));
  EXPECT_OK(run.ReadCheckpoint(6, "large"));
}

TEST(KeepCheckpointsTest, FilesNeededByARunThatWasSetAsideStay) {
  FakeFileSystem files;
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), Keeping(1)));
    WriteSteps(1, 2, writer);
    ASSERT_OK(writer.Finish());
  }
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files, "run", ExampleHeader(), Keeping(1)));
  WriteSteps(1, 2, writer);
  ASSERT_OK(writer.SetAside("run.until-2.h5"));
  WriteSteps(3, 5, writer);
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(FilesIn(files, "run/checkpoints"), 2);  // the large ones of steps 2 and 5
  ASSERT_OK_AND_ASSIGN(const RunReader aside, RunReader::Open(files, "run/run.until-2.h5"));
  EXPECT_OK(aside.ReadCheckpoint(2, "large"));
  ASSERT_OK_AND_ASSIGN(const RunReader run, RunReader::Open(files, "run/run.h5"));
  EXPECT_OK(run.ReadCheckpoint(5, "large"));
}

// A run that is rewritten lacks the checkpoints that the finished run no longer has; repeating its steps adds none.
TEST(KeepCheckpointsTest, RepeatingTheStepsOfARewrittenRunGivesTheBytesOfALongRun) {
  FakeFileSystem files;
  const auto write_run = [&](const std::string& directory, int64_t steps) {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, directory, ExampleHeader(), Keeping(2)));
    WriteSteps(1, steps, writer);
    ASSERT_OK(writer.Finish());
  };
  write_run("run", 4);
  write_run("long", 6);
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files, "run", ExampleHeader(), Keeping(2)));
  for (int64_t step = 1; step <= 4; ++step) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
  for (const int64_t step : {3, 4}) WriteCheckpoint(step, step, writer);
  ASSERT_OK(writer.SetAside("run.until-4.h5"));
  for (int64_t step = 1; step <= 4; ++step) WriteCheckpoint(step, step, writer);
  EXPECT_FALSE(writer.HasCheckpoint(2, "large"));
  EXPECT_THAT(writer.AddCheckpoint(3, "small", ViewsOf(ExampleTensors(9, 20))),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("step 3 already has")));
  WriteSteps(5, 6, writer);
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(ReadFile(files, "run/run.h5", kMany).value(), ReadFile(files, "long/run.h5", kMany).value());
}

TEST(KeepCheckpointsTest, ARunThatKeepsAllAndLacksAnOlderOneIsDamaged) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), Keeping(0)));
  for (int64_t step = 1; step <= 2; ++step) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
  WriteCheckpoint(2, 2, writer);
  EXPECT_THAT(writer.AddCheckpoint(1, "small", ViewsOf(ExampleTensors(9, 20))),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the checkpoint of step 1 (group \"small\") is missing, though a later one is")));
}

}  // namespace
}  // namespace reprise
