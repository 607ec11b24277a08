// What resuming does with segments that no journal names, and with journals that are lost.

#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/find_run.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "data/artifact/testing/resume_fixture.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

class UnnamedSegmentsTest : public ResumeFixture {};

// A process names each segment in its journal before it writes the next one.
TEST_F(UnnamedSegmentsTest, ASegmentThatWasNotYetNamedJoinsTheRun) {
  WriteABeginning();
  const std::string journal = ReadFile(files_, "run/journal.E0001", kMany).value();
  const size_t last_line = journal.rfind('\n', journal.size() - 2) + 1;
  for (const size_t size : {last_line, last_line + 20}) {
    Replace("run/journal.E0001", journal.substr(0, size));
    ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
    EXPECT_EQ(writer.last_step(), 2);
    EXPECT_TRUE(writer.HasCheckpoint(2, "weights"));
    EXPECT_EQ(writer.segments().size(), 4u);
  }
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
  EXPECT_THAT(files_.List("run").value(), ElementsAre("checkpoints", "run.h5"));
}

TEST_F(UnnamedSegmentsTest, ASegmentThatWasNotYetNamedJoinsTheRunBehindAGapOnlyWhereTheCallerExpectsTheGap) {
  const auto write_with_gap = [&](FakeFileSystem& files) {
    RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), kOptions).value();
    EXPECT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
    EXPECT_OK(writer.AddCheckpoint(1, "weights", ViewsOf(ExampleTensors(7, 100))));
    EXPECT_OK(writer.Flush());
    EXPECT_OK(writer.CommitStep(5, ExampleStep(5, 3)));
    EXPECT_OK(writer.Flush());
    const std::string journal = ReadFile(files, "run/journal.E0001", kMany).value();
    EXPECT_OK(files.Unlink("run/journal.E0001"));
    EXPECT_OK(WriteFileAtomically(files, "run/journal.E0001",
                                  journal.substr(0, journal.rfind('\n', journal.size() - 2) + 1)));
  };
  for (const int64_t expected : {2, 4, 5, 6}) {
    FakeFileSystem files;
    write_with_gap(files);
    const auto next_step_after = [&](const std::string& segment) -> absl::StatusOr<int64_t> {
      if (segment == "segments/E0001-000002.h5") return 0;  // it holds the checkpoint
      EXPECT_EQ(segment, "segments/E0001-000001.h5");
      return expected;
    };
    ASSERT_OK_AND_ASSIGN(const RunWriter writer,
                         RunWriter::Resume(files, "run", ExampleHeader(), kOptions, next_step_after));
    EXPECT_EQ(writer.last_step(), expected == 5 ? 5 : 1);
    EXPECT_EQ(writer.moved_aside().size(), expected == 5 ? 0u : 1u);
  }
  write_with_gap(files_);
  EXPECT_EQ(Resume().value().last_step(), 1);
}

// Each segment is of a different epoch; the newest one does not contain the previous step.
TEST_F(UnnamedSegmentsTest, SegmentsOfSeveralEpochsJoinTheRunInTheOrderOfTheirSteps) {
  for (const int64_t first : {1, 2}) {  // the step whose segment is not named in the first journal
    FakeFileSystem files;
    {
      RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), kOptions).value();
      for (int64_t step = 1; step <= first; ++step) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
      ASSERT_OK(writer.Flush());
    }
    const std::string journal = ReadFile(files, "run/journal.E0001", kMany).value();
    ASSERT_OK(files.Unlink("run/journal.E0001"));
    ASSERT_OK(WriteFileAtomically(files, "run/journal.E0001",
                                  journal.substr(0, journal.rfind('\n', journal.size() - 2) + 1)));
    {
      RunWriter writer = RunWriter::Resume(files, "run", ExampleHeader(), kOptions).value();
      ASSERT_EQ(writer.last_step(), first);
      ASSERT_OK(writer.CommitStep(first + 1, ExampleStep(first + 1, 3)));
      ASSERT_OK(writer.Flush());
    }
    ASSERT_OK(files.Unlink("run/journal.E0002"));
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Resume(files, "run", ExampleHeader(), kOptions));
    EXPECT_EQ(writer.last_step(), first + 1);
    EXPECT_THAT(writer.moved_aside(), ElementsAre());
    ASSERT_OK(writer.Finish());
    EXPECT_EQ(RunReader::Open(files, "run/run.h5").value().steps().size(), static_cast<size_t>(first + 1));
  }
}

TEST_F(UnnamedSegmentsTest, ATruncatedOrLostJournalIsDataLossAndRemovesNothing) {
  WriteABeginning();
  const std::string journal = ReadFile(files_, "run/journal.E0001", kMany).value();
  const std::vector<std::string> segments = files_.List("run/segments").value();
  ASSERT_EQ(segments.size(), 4u);
  const auto is_loss =
      StatusIs(kDataLoss, AllOf(HasSubstr("run/journal.E0001: it was truncated or lost: it does not name "),
                                HasSubstr("restore the journal from a copy")));
  const size_t first_line = journal.find('\n') + 1, second_line = journal.find('\n', first_line) + 1;
  const size_t third_line = journal.find('\n', second_line) + 1;  // then two segments are left unnamed
  for (const size_t size : {size_t{0}, size_t{10}, first_line, second_line, third_line}) {
    Replace("run/journal.E0001", journal.substr(0, size));
    EXPECT_THAT(FindRun(files_, "run"), is_loss) << size;
    EXPECT_THAT(Resume(), is_loss) << size;
  }
  ASSERT_OK(files_.Unlink("run/journal.E0001"));
  EXPECT_THAT(Resume(), is_loss);
  EXPECT_EQ(files_.List("run/segments").value(), segments);
  ASSERT_OK(WriteFileAtomically(files_, "run/journal.E0001", journal));
  EXPECT_EQ(Resume().value().last_step(), 2);
}

// One segment that no journal names may be the only copy of steps that were committed.
TEST_F(UnnamedSegmentsTest, ASegmentThatDoesNotContinueTheRunIsMovedAsideUnlessTheRunHasItsSteps) {
  WriteABeginning();
  const std::string segment = ReadFile(files_, "run/segments/E0001-000001.h5", kMany).value();  // step 1
  ASSERT_OK(WriteFileAtomically(files_, "run/segments/E0001-000007.h5", segment));
  EXPECT_THAT(Resume().value().moved_aside(), ElementsAre());
  EXPECT_FALSE(Exists(files_, "run/segments/E0001-000007.h5").value());
  const std::pair<const char*, std::string> strays[] = {
      {"", "x"}, {".2", SegmentOfAnotherRun()}, {".3", "y"}, {".4", "z"}};
  for (const auto& [suffix, bytes] : strays) {
    ASSERT_OK(WriteFileAtomically(files_, "run/segments/E0001-000007.h5", bytes));
    ASSERT_OK_AND_ASSIGN(const RunWriter writer, Resume());
    const std::string aside = absl::StrCat("run/aside/E0001-000007.h5", suffix);
    EXPECT_THAT(writer.moved_aside(), ElementsAre(aside));
    EXPECT_EQ(ReadFile(files_, aside, kMany).value(), bytes);
  }
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
}

// Rows with the same concatenated texts but other boundaries between them are different rows.
TEST_F(UnnamedSegmentsTest, ASegmentWithOtherBoundariesBetweenItsRowsIsMovedAside) {
  WriteABeginning();
  std::vector<StreamTable> tables = ExampleStep(1, 3);
  StreamTable other(tables[0].schema());
  constexpr int kText = 3;
  for (int column = 0; column < static_cast<int>(other.schema().columns.size()); ++column) {
    std::vector<int64_t> offsets(tables[0].Offsets(column).begin(), tables[0].Offsets(column).end());
    if (column == kText) --offsets[1];
    other.AppendStored(column, tables[0].ValueBytes(column), offsets);
  }
  tables[0] = std::move(other);
  FakeFileSystem files;
  RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), kOptions).value();
  ASSERT_OK(writer.CommitStep(1, tables));
  const std::string segment = ReadFile(files, "run/segments/E0001-000001.h5", kMany).value();
  ASSERT_OK(WriteFileAtomically(files_, "run/segments/E0001-000007.h5", segment));
  EXPECT_THAT(Resume().value().moved_aside(), ElementsAre("run/aside/E0001-000007.h5"));
}

// Two processes died before either had named its segment.
TEST_F(UnnamedSegmentsTest, OfTwoSegmentsThatWereNotYetNamedTheOneWithMoreStepsJoinsTheRun) {
  WriteABeginning();
  const auto segment_of_epoch = [&](int epoch, int64_t steps) {
    const auto files = files_.Copy();
    for (int before = 2; before < epoch; ++before) {
      EXPECT_OK(RunWriter::Resume(*files, "run", ExampleHeader(), kOptions));
    }
    RunWriterOptions options = kOptions;
    options.segment_steps = steps;
    RunWriter writer = RunWriter::Resume(*files, "run", ExampleHeader(), options).value();
    for (int64_t step = 3; step < 3 + steps; ++step) EXPECT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
    return ReadFile(*files, absl::StrCat("run/segments/E000", epoch, "-000000.h5"), kMany).value();
  };
  for (const int longer : {2, 3}) {
    const auto files = files_.Copy();
    for (const int epoch : {2, 3}) {
      ASSERT_OK(WriteFileAtomically(*files, absl::StrCat("run/segments/E000", epoch, "-000000.h5"),
                                    segment_of_epoch(epoch, epoch == longer ? 2 : 1)));
    }
    ASSERT_OK_AND_ASSIGN(const RunWriter writer, RunWriter::Resume(*files, "run", ExampleHeader(), kOptions));
    EXPECT_EQ(writer.last_step(), 4) << longer;
    EXPECT_THAT(writer.moved_aside(), ElementsAre()) << longer;
  }
}

TEST_F(UnnamedSegmentsTest, AForeignRunFileRemovesNoCommittedStep) {
  WriteABeginning();
  const std::string journal = ReadFile(files_, "run/journal.E0001", kMany).value();
  std::string other_run;
  {
    FakeFileSystem files;
    RunWriter writer = RunWriter::Create(files, "run", ExampleHeader(), kOptions).value();
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 2)));
    ASSERT_OK(writer.Finish());
    other_run = ReadFile(files, "run/run.h5", kMany).value();
  }
  const std::vector<std::string> checkpoints = files_.List("run/checkpoints").value();
  ASSERT_OK(WriteFileAtomically(files_, "run/run.h5", other_run));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> moved, RunWriter::Tidy(files_, "run"));
  EXPECT_THAT(moved, ElementsAre("run/aside/journal.E0001", "run/aside/E0001-000000.h5", "run/aside/E0001-000001.h5",
                                 "run/aside/E0001-000002.h5", "run/aside/E0001-000003.h5"));
  EXPECT_EQ(files_.List("run/checkpoints").value(), checkpoints);
  EXPECT_EQ(ReadFile(files_, "run/aside/journal.E0001", kMany).value(), journal);
}

}  // namespace
}  // namespace reprise::testing
