#include "data/artifact/run_writer.h"

#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ExampleHeader;
using testing::ExampleStep;
using testing::ExampleTensors;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ViewsOf;
using testing::WriteExampleRun;

constexpr int64_t kMany = 1 << 24;

std::string RunFile(FileSystem& files) { return ReadFile(files, "run/run.h5", kMany).value(); }

// Returns a run with these numbers of rows per step, which starts a new segment where `flush_after` is set.
std::string RunOf(const std::vector<uint8_t>& rows, const std::vector<bool>& flush_after,
                  const RunWriterOptions& options) {
  FakeFileSystem files;
  RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), options).value();
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_OK(writer.CommitStep(static_cast<int64_t>(i), ExampleStep(static_cast<int64_t>(i), rows[i] % 9)));
    if (i % 4 == 1) {
      EXPECT_OK(writer.AddCheckpoint(static_cast<int64_t>(i), "weights", ViewsOf(ExampleTensors(5, 50))));
    }
    if (i < flush_after.size() && flush_after[i]) {
      EXPECT_OK(writer.Flush());
    }
  }
  EXPECT_OK(writer.Finish());
  return RunFile(files);
}

RC_GTEST_PROP(RunWriterTest, WritesTheSameBytesHoweverStepsAreDividedIntoSegments,
              (const std::vector<uint8_t>& rows, const std::vector<bool>& flush_after)) {
  RunWriterOptions options;
  options.segment_steps = *rc::gen::inRange<int64_t>(1, 20);
  options.segment_bytes = *rc::gen::inRange<int64_t>(1, 5000);
  RC_ASSERT(RunOf(rows, flush_after, options) == RunOf(rows, {}, {}));
}

TEST(RunWriterTest, LeavesNothingButTheRunFileWhenAllCheckpointsAreSmall) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const RunDigests digests, WriteExampleRun(files, "run", 5, {.segment_steps = 2}));
  EXPECT_THAT(files.List("run").value(), ElementsAre("run.h5"));
  EXPECT_EQ(digests.file_sha256_hex, ToHex(Sha256(RunFile(files))));
  ASSERT_OK_AND_ASSIGN(const RunReader reader, RunReader::Open(files, "run/run.h5"));
  EXPECT_EQ(digests.run_digest_hex, reader.run_digest_hex());
  EXPECT_EQ(digests.file_sha256_hex, reader.file_sha256_hex());
}

TEST(RunWriterTest, KeepsLargeCheckpointsBesideTheRunFile) {
  FakeFileSystem files;
  ASSERT_OK(WriteExampleRun(files, "run", 3, {.max_inline_checkpoint_bytes = 500}));
  EXPECT_THAT(files.List("run").value(), ElementsAre("checkpoints", "run.h5"));
  EXPECT_EQ(files.List("run/checkpoints").value().size(), 1u);  // optimizer; weights have 408 bytes
}

TEST(RunWriterTest, MakesFlushedStepsDurable) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), {.segment_steps = 2}));
  for (int64_t step = 1; step <= 3; ++step) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 2)));
  ASSERT_OK(writer.AddCheckpoint(3, "weights", ViewsOf(ExampleTensors(1, 10))));
  ASSERT_OK(writer.Flush());
  ASSERT_OK(writer.CommitStep(4, ExampleStep(4, 2)));  // only buffered
  files.LosePower();
  EXPECT_THAT(files.List("run/segments").value(), ElementsAre("E0001-000000.h5", "E0001-000001.h5", "E0001-000002.h5"));
  ASSERT_OK_AND_ASSIGN(const RunReader first, RunReader::Open(files, "run/segments/E0001-000001.h5"));
  EXPECT_THAT(first.steps(), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const RunReader last, RunReader::Open(files, "run/segments/E0001-000002.h5", "run"));
  EXPECT_THAT(last.steps(), ElementsAre(3));
  EXPECT_EQ(last.ReadCheckpoint(3, "weights").value().size(), 3u);
}

TEST(RunWriterTest, RefusesADirectoryThatHoldsARun) {
  FakeFileSystem files;
  const auto refused = StatusIs(absl::StatusCode::kAlreadyExists,
                                AllOf(HasSubstr("run already holds a run"), HasSubstr("choose another directory")));
  {
    ASSERT_OK_AND_ASSIGN(const RunWriter writer, RunWriter::Create(files, "run", ExampleHeader()));
    EXPECT_THAT(RunWriter::Create(files, "run", ExampleHeader()), refused);
  }
  ASSERT_OK(WriteExampleRun(files, "other", 1));
  EXPECT_THAT(RunWriter::Create(files, "other", ExampleHeader()),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run.h5")));
}

TEST(RunWriterTest, RefusesHeadersAndCheckpointsThatTheFormatCantHold) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  FakeFileSystem files;
  RunHeader header = ExampleHeader();
  header.streams.push_back(header.streams[0]);
  EXPECT_THAT(RunWriter::Create(files, "run", header), StatusIs(kInvalid, HasSubstr("\"metrics\" appears twice")));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader()));
  const Tensor slash("a/b", DType::kF32, {1}), good("a", DType::kF32, {1});
  EXPECT_THAT(writer.AddCheckpoint(1, "w", {slash.view()}), StatusIs(kInvalid, HasSubstr("a/b")));
  EXPECT_THAT(writer.AddCheckpoint(1, "w", {good.view(), good.view()}), StatusIs(kInvalid, HasSubstr("twice")));
  EXPECT_THAT(writer.AddCheckpoint(1, "w", {}), StatusIs(kInvalid, HasSubstr("empty")));
  EXPECT_THAT(writer.AddCheckpoint(1, "../w", {good.view()}), StatusIs(kInvalid, HasSubstr("../w")));
  EXPECT_OK(writer.AddCheckpoint(1, "w", {good.view()}));
  const Tensor other("a", DType::kF32, {2});
  EXPECT_THAT(writer.AddCheckpoint(1, "w", {other.view()}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"w\"")));
}

TEST(RunWriterTest, RefusesToMergeASegmentThatWasDamaged) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader(), {.segment_steps = 1}));
  ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
  {
    std::string bytes = ReadFile(files, "run/segments/E0001-000001.h5", kMany).value();
    bytes[2000] = static_cast<char>(bytes[2000] ^ 1);
    ASSERT_OK(files.Unlink("run/segments/E0001-000001.h5"));
    ASSERT_OK(WriteFileAtomically(files, "run/segments/E0001-000001.h5", bytes));
  }
  EXPECT_THAT(writer.Finish(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("run/segments/E0001-000001.h5: it is damaged")));
  EXPECT_THAT(files.List("run").value(), ElementsAre("epochs", "journal.E0001", "segments"));
}

TEST(RunWriterDeathTest, RefusesStepsThatAreNotAscendingAndForeignStreams) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files, "run", ExampleHeader()));
  ASSERT_OK(writer.CommitStep(2, {}));
  EXPECT_DEATH(writer.CommitStep(2, {}).IgnoreError(), "CHECK failed");
  const StreamTable foreign({"foreign", 1, {StringColumn("a")}});
  EXPECT_DEATH(writer.CommitStep(3, {foreign}).IgnoreError(), "CHECK failed");
}

}  // namespace
}  // namespace reprise
