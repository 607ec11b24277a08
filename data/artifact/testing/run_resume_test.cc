// Resuming runs whose process is gone, one case at a time; run_kill_test.cc tests every moment.

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/find_run.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

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
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

class RunResumeTest : public ::testing::Test {
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

TEST_F(RunResumeTest, ContinuesAfterTheLastStepToTheSameBytes) {
  WriteABeginning();
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
    EXPECT_EQ(writer.last_step(), 2);
    EXPECT_TRUE(writer.HasCheckpoint(2, "weights"));
    EXPECT_FALSE(writer.HasCheckpoint(2, "gradients"));
    ASSERT_OK(writer.CommitStep(3, ExampleStep(3, 3)));
    EXPECT_THAT(
        files_.List("run/segments").value(),
        ElementsAre("E0001-000000.h5", "E0001-000001.h5", "E0001-000002.h5", "E0001-000003.h5", "E0002-000000.h5"));
    EXPECT_EQ(writer.segments().size(), 5u);
  }
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  EXPECT_EQ(writer.last_step(), 3);
  ASSERT_OK(writer.CommitStep(4, ExampleStep(4, 3)));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(4));
  EXPECT_THAT(files_.List("run").value(), ElementsAre("checkpoints", "run.h5"));
}

TEST_F(RunResumeTest, AnExistingCheckpointMayBeAddedAgainButNotWithOtherContents) {
  WriteABeginning();
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  AddCheckpoint(writer);
  EXPECT_THAT(writer.AddCheckpoint(2, "weights", ViewsOf(ExampleTensors(8, 100))),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"weights\" with other contents")));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
}

TEST_F(RunResumeTest, RefusesAnythingButAnUnfinishedRun) {
  EXPECT_THAT(Resume(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("run holds no run to resume")));
  ASSERT_OK(WriteExampleRun(files_, "run", 2, kOptions));
  EXPECT_THAT(Resume(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run/run.h5 already exists")));
}

TEST_F(RunResumeTest, RefusesAnotherHeaderAndLeavesTheRunToItsProcess) {
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files_, "run", ExampleHeader(), kOptions));
  RunHeader other = ExampleHeader();
  other.config_text = "[run]\nseed = 2\n";
  other.external_files[1].sha256 = Sha256("other data");
  EXPECT_THAT(Resume(other),
              StatusIs(kFailedPrecondition, AllOf(HasSubstr("run holds another run"),
                                                  HasSubstr("says \"seed = 1\" where this one says \"seed = 2\""),
                                                  HasSubstr("started with other files: data.jsonl"))));
  other = ExampleHeader();
  other.streams.pop_back();
  EXPECT_THAT(Resume(other), StatusIs(kFailedPrecondition, HasSubstr("other streams: episodes")));
  EXPECT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
}

TEST_F(RunResumeTest, StartsAgainWhenNothingWasCommitted) {
  ASSERT_OK(CreateDirectories(files_, "run/epochs"));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  EXPECT_EQ(writer.last_step(), -1);
  for (const int64_t step : {1, 2}) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
  AddCheckpoint(writer);
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
}

TEST_F(RunResumeTest, NamesTheMissingOrDamagedFileAndARemedy) {
  WriteABeginning();
  const std::string checkpoint = "run/checkpoints/" + files_.List("run/checkpoints").value()[0];
  for (const std::string& path : {std::string("run/segments/E0001-000002.h5"), checkpoint}) {
    const std::string bytes = ReadFile(files_, path, kMany).value();
    const auto is_loss = StatusIs(kDataLoss, AllOf(HasSubstr(path), HasSubstr("restore it from a copy")));
    ASSERT_OK(files_.Unlink(path));
    EXPECT_THAT(Resume(), is_loss);
    for (const std::string& damaged : {bytes.substr(1), bytes + "x", bytes.substr(1) + "x"}) {
      ASSERT_OK(WriteFileAtomically(files_, path, damaged));
      EXPECT_THAT(Resume(), is_loss);
      ASSERT_OK(files_.Unlink(path));
    }
    ASSERT_OK(WriteFileAtomically(files_, path, bytes));
  }
  const std::string journal = ReadFile(files_, "run/journal.E0001", kMany).value();
  Replace("run/journal.E0001", journal.substr(0, 200) + "?" + journal.substr(201));
  EXPECT_THAT(Resume(), StatusIs(kDataLoss, HasSubstr("run/journal.E0001")));
  Replace("run/journal.E0001", journal);
  EXPECT_OK(Resume());
}

TEST_F(RunResumeTest, RemovesOnlyWhatOlderProcessesLeft) {
  WriteABeginning();
  const std::vector<std::string> orphans = {"run/segments/E0001-000010.h5.tmp-1-00000000-0",
                                            "run/run.h5.tmp-1-00000000-1", "run/epochs/E0002.tmp-1-00000000-3",
                                            "run/checkpoints/00.tmp-1-00000000-4"};
  const std::vector<std::string> others = {"run/segments/notes", "run/metrics.jsonl", "run/checkpoints/00",
                                           "run/journal.txt", "run/epochs/notes"};
  for (const std::string& path : orphans) ASSERT_OK(WriteFileAtomically(files_, path, "x"));
  for (const std::string& path : others) ASSERT_OK(WriteFileAtomically(files_, path, "x"));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  for (const std::string& path : orphans) EXPECT_FALSE(Exists(files_, path).value()) << path;
  for (const std::string& path : others) EXPECT_TRUE(Exists(files_, path).value()) << path;
  EXPECT_THAT(writer.moved_aside(), ElementsAre());
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
  for (const std::string& path : others) EXPECT_TRUE(Exists(files_, path).value()) << path;
}

// A process names each segment in its journal before it writes the next one.
TEST_F(RunResumeTest, ASegmentThatWasNotYetNamedJoinsTheRun) {
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

// Each segment is of a different epoch; the newest one does not contain the previous step.
TEST_F(RunResumeTest, SegmentsOfSeveralEpochsJoinTheRunInTheOrderOfTheirSteps) {
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

TEST_F(RunResumeTest, ATruncatedOrLostJournalIsDataLossAndRemovesNothing) {
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
TEST_F(RunResumeTest, ASegmentThatDoesNotContinueTheRunIsMovedAsideUnlessTheRunHasItsSteps) {
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
TEST_F(RunResumeTest, ASegmentWithOtherBoundariesBetweenItsRowsIsMovedAside) {
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
TEST_F(RunResumeTest, OfTwoSegmentsThatWereNotYetNamedTheOneWithMoreStepsJoinsTheRun) {
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

TEST_F(RunResumeTest, AForeignRunFileRemovesNoCommittedStep) {
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

TEST_F(RunResumeTest, LostClaimsLoseNoStep) {
  WriteABeginning();
  ASSERT_OK(files_.Unlink("run/epochs/E0001"));
  ASSERT_OK(files_.RemoveDirectory("run/epochs"));
  EXPECT_EQ(FindRun(files_, "run").value().stage, RunStage::kInProgress);
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  EXPECT_EQ(writer.last_step(), 2);
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
  EXPECT_THAT(files_.List("run").value(), ElementsAre("checkpoints", "run.h5"));
}

// A process that resumes the run meanwhile gets a higher epoch than the newest claim.
TEST_F(RunResumeTest, TheNewestClaimIsRemovedLast) {
  WriteABeginning();
  ASSERT_OK(Resume());
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  const size_t before = files_.log().size();
  ASSERT_OK(writer.Finish());
  std::vector<std::string> claims;
  for (size_t i = before; i < files_.log().size(); ++i) {
    if (absl::StartsWith(files_.log()[i], "unlink run/epochs/")) claims.push_back(files_.log()[i]);
  }
  EXPECT_THAT(claims, ElementsAre("unlink run/epochs/E0001", "unlink run/epochs/E0002", "unlink run/epochs/E0003"));
}

TEST_F(RunResumeTest, AFileThatCannotBeAClaimIsNamedWithARemedy) {
  WriteABeginning();
  const auto expect_refused = [&](const std::string& path) {
    EXPECT_THAT(Resume(), StatusIs(kDataLoss, AllOf(HasSubstr(path + ": it is not the claim of an epoch"),
                                                    HasSubstr("move it out of the run's directory"))));
    EXPECT_THAT(FindRun(files_, "run"), StatusIs(kDataLoss, HasSubstr(path)));
  };
  for (const std::string name : {"E9223372036854775807", "E9223372036854775808", "E99999999999999999999"}) {
    ASSERT_OK(WriteFileAtomically(files_, "run/epochs/" + name, ""));
    expect_refused("run/epochs/" + name);
    ASSERT_OK(files_.Unlink("run/epochs/" + name));
  }
  ASSERT_OK(files_.CreateDirectory("run/epochs/E0007"));
  expect_refused("run/epochs/E0007");
  ASSERT_OK(files_.RemoveDirectory("run/epochs/E0007"));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  ASSERT_OK(writer.Finish());
}

TEST_F(RunResumeTest, TheOlderProcessCannotAddAnything) {
  WriteABeginning();
  ASSERT_OK_AND_ASSIGN(RunWriter old, Resume());
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  const auto is_fenced = StatusIs(kFailedPrecondition, HasSubstr("another process has taken over this run (epoch 3"));
  EXPECT_THAT(old.CommitStep(3, ExampleStep(3, 1)), is_fenced);
  EXPECT_THAT(old.Finish(), is_fenced);
  ASSERT_OK(writer.CommitStep(3, ExampleStep(3, 3)));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(3));
}

TEST_F(RunResumeTest, AnOlderProcessGetsAnErrorThatTheRunIsFinished) {
  WriteABeginning();
  ASSERT_OK_AND_ASSIGN(RunWriter older, Resume());
  ASSERT_OK_AND_ASSIGN(RunWriter old, Resume());
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(old.CommitStep(3, ExampleStep(3, 1)),
              StatusIs(kFailedPrecondition, HasSubstr("another process has finished or removed this run")));
  EXPECT_THAT(older.Finish(), StatusIs(absl::StatusCode::kAlreadyExists,
                                       HasSubstr("run/run.h5 already exists: another process has finished")));
  EXPECT_EQ(RunFile(), Undisturbed(2));
}

TEST_F(RunResumeTest, ARunThatIsFinishedMeanwhileIsNotResumed) {
  bool was_interrupted = true;
  for (int64_t call = 0; was_interrupted; ++call) {
    FakeFileSystem files;
    was_interrupted = false;
    ASSERT_OK(RunWriter::Create(files, "run", ExampleHeader(), kOptions));
    files.Interrupt(files.calls() + call, [&] {
      was_interrupted = true;
      ASSERT_OK(WriteFileAtomically(files, "run/run.h5", "finished"));
    });
    const auto writer = RunWriter::Resume(files, "run", ExampleHeader(), kOptions);
    if (was_interrupted) {
      EXPECT_THAT(writer, StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run/run.h5"))) << call;
    }
  }
}

TEST_F(RunResumeTest, ACheckpointFileWhoseNameADeadProcessDidNotSyncIsMadeDurable) {
  const auto commit = [&](RunWriter writer) -> absl::Status {
    if (writer.last_step() < 2) RETURN_IF_ERROR(writer.CommitStep(2, ExampleStep(2, 3)));
    RETURN_IF_ERROR(writer.AddCheckpoint(2, "weights", ViewsOf(ExampleTensors(7, 100))));
    return writer.Flush();
  };
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files_, "run", ExampleHeader(), kOptions));
  const auto undisturbed = files_.Copy();
  ASSERT_OK_AND_ASSIGN(RunWriter other, RunWriter::Resume(*undisturbed, "run", ExampleHeader(), kOptions));
  const int64_t before = undisturbed->calls();
  ASSERT_OK(commit(std::move(other)));
  const auto& log = undisturbed->log();
  const auto synced = std::find(log.begin() + before, log.end(), "syncdir run/checkpoints");
  ASSERT_NE(synced, log.end());
  files_.Kill(files_.calls() + (synced - log.begin()) - before, /*torn=*/false);
  EXPECT_THAT(commit(std::move(writer)), StatusIs(absl::StatusCode::kAborted, ::testing::_));
  files_.Restart();
  ASSERT_EQ(files_.List("run/checkpoints").value().size(), 1u);
  ASSERT_OK(commit(Resume().value()));
  files_.LosePower();
  ASSERT_OK_AND_ASSIGN(const RunWriter last, Resume());
  EXPECT_TRUE(last.HasCheckpoint(2, "weights"));
}

TEST_F(RunResumeTest, FindRunReportsWhatADirectoryHolds) {
  EXPECT_EQ(FindRun(files_, "run").value().stage, RunStage::kNone);
  ASSERT_OK(CreateDirectories(files_, "run/epochs"));
  EXPECT_EQ(FindRun(files_, "run").value().stage, RunStage::kClaimed);
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
    EXPECT_EQ(FindRun(files_, "run").value().last_step, -1);
    ASSERT_OK(writer.CommitStep(5, ExampleStep(5, 1)));
  }
  RunHeader header = ExampleHeader();
  Sort(header);
  ASSERT_OK_AND_ASSIGN(FoundRun found, FindRun(files_, "run"));
  EXPECT_EQ(found.stage, RunStage::kInProgress);
  EXPECT_EQ(found.last_step, 5);
  EXPECT_EQ(found.header, header);
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(found, FindRun(files_, "run"));
  EXPECT_EQ(found.stage, RunStage::kFinished);
  EXPECT_EQ(found.last_step, 5);
  EXPECT_EQ(found.header, header);
}

TEST_F(RunResumeTest, CommittedStepsCanBeReadWhileTheProcessContinues) {
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Create(files_, "run", ExampleHeader(), kOptions));
  EXPECT_TRUE(OpenCommitted(files_, "run", 0).value().steps().empty());
  for (int64_t step : {1, 2}) ASSERT_OK(writer.CommitStep(step, ExampleStep(step, 3)));
  AddCheckpoint(writer);
  ASSERT_OK(writer.Flush());
  ASSERT_OK_AND_ASSIGN(const RunReader reader, OpenCommitted(files_, "run", 0));
  EXPECT_THAT(reader.steps(), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const StreamTable metrics, reader.ReadStream("metrics"));
  EXPECT_EQ(metrics.rows(), 2);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(2, "weights"));
  EXPECT_EQ(tensors.size(), ExampleTensors(7, 100).size());
  // The process was not disturbed, and no new file is in its directory.
  ASSERT_OK(writer.CommitStep(3, ExampleStep(3, 3)));
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(3));
  EXPECT_EQ(FindRun(files_, "run").value().stage, RunStage::kFinished);
}

}  // namespace
}  // namespace reprise
