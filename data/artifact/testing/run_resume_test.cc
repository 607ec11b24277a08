// Resuming runs whose process is gone, one case at a time; run_kill_test.cc tests every moment.

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
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
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;

class RunResumeTest : public ResumeFixture {};

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
  const std::string block(512, '\0');
  const std::vector<std::pair<std::string, std::string>> orphans = {
      {"run/segments/E0001-000010.h5.tmp-1-00000000-0", "reprise ru"},
      {"run/segments/E0001-000011.h5.tmp-1-00000000-0", ""},
      {"run/run.h5.tmp-1-00000000-1", block + "\x89HDF\r\n\x1a\nand more"},
      {"run/run.h5.tmp-1-00000000-2", block + block},
      {"run/epochs/E0002.tmp-1-00000000-3", "claim"},
      {"run/checkpoints/" + std::string(64, '0') + ".tmp-1-00000000-4", "x"}};
  // The last four have the names of what older processes leave, and contents that none writes.
  const std::vector<std::string> others = {"run/segments/notes",
                                           "run/metrics.jsonl",
                                           "run/checkpoints/00",
                                           "run/journal.txt",
                                           "run/epochs/notes",
                                           "run/checkpoints/00.tmp-1-0-4",
                                           "run/segments/E0001-000012.h5.tmp-1-00000000-0",
                                           "run/run.h5.tmp-1-00000000-3",
                                           "run/run.h5.tmp-4242-0badcafe-7",
                                           "run/epochs/E0002.tmp-1-00000000-4"};
  for (const auto& [path, bytes] : orphans) ASSERT_OK(WriteFileAtomically(files_, path, bytes));
  for (const std::string& path : others) ASSERT_OK(WriteFileAtomically(files_, path, "x"));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, Resume());
  for (const auto& [path, bytes] : orphans) EXPECT_FALSE(Exists(files_, path).value()) << path;
  for (const std::string& path : others) EXPECT_TRUE(Exists(files_, path).value()) << path;
  EXPECT_THAT(writer.moved_aside(), ElementsAre());
  ASSERT_OK(writer.Finish());
  EXPECT_EQ(RunFile(), Undisturbed(2));
  for (const std::string& path : others) EXPECT_TRUE(Exists(files_, path).value()) << path;
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
}  // namespace reprise::testing
