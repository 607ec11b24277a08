// Rewriting a finished run, and tidying up after a rewrite.

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
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using testing::ExampleHeader;
using testing::ExampleStep;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::WriteExampleRun;

constexpr int64_t kMany = 1 << 24;
const std::string kSomeDigest(64, '0');
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

RunHeader LongerHeader() {
  RunHeader header = ExampleHeader();
  header.config_text = "[run]\nseed = 1\nsteps = 9\n";
  return header;
}

class RunRewriteTest : public ::testing::Test {
 protected:
  RunRewriteTest() { EXPECT_OK(WriteExampleRun(files_, "run", 3, kOptions)); }

  std::string Bytes(const std::string& path) { return ReadFile(files_, path, kMany).value(); }

  FakeFileSystem files_;
};

TEST_F(RunRewriteTest, TheFinishedRunStaysUntilItIsSetAside) {
  const std::string finished = Bytes("run/run.h5");
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
  EXPECT_EQ(writer.last_step(), -1);
  ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 2)));
  ASSERT_OK_AND_ASSIGN(FoundRun found, FindRun(files_, "run"));
  EXPECT_EQ(found.stage, RunStage::kFinished);
  EXPECT_EQ(found.last_step, 3);

  ASSERT_OK(writer.SetAside("run.before.h5"));
  EXPECT_EQ(Bytes("run/run.before.h5"), finished);
  ASSERT_OK_AND_ASSIGN(found, FindRun(files_, "run"));
  EXPECT_EQ(found.stage, RunStage::kInProgress);
  EXPECT_EQ(found.last_step, 1);
  EXPECT_EQ(found.header.config_text, LongerHeader().config_text);

  ASSERT_OK(writer.CommitStep(2, ExampleStep(2, 2)));
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const RunReader reader, RunReader::Open(files_, "run/run.h5"));
  EXPECT_THAT(reader.steps(), ElementsAre(1, 2));
  EXPECT_THAT(files_.List("run").value(), ElementsAre("checkpoints", "run.before.h5", "run.h5"));
}

TEST_F(RunRewriteTest, CanBeResumedOnceTheOldRunIsSetAside) {
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 2)));
    ASSERT_OK(writer.SetAside("run.before.h5"));
  }
  ASSERT_OK_AND_ASSIGN(const RunWriter writer, RunWriter::Resume(files_, "run", LongerHeader(), kOptions));
  EXPECT_EQ(writer.last_step(), 1);
}

TEST_F(RunRewriteTest, SetAsideReplacesNothing) {
  ASSERT_OK(WriteFileAtomically(files_, "run/notes", "mine"));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
  EXPECT_THAT(writer.SetAside("notes"), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run/notes")));
  EXPECT_TRUE(Exists(files_, "run/run.h5").value());
}

TEST_F(RunRewriteTest, TheLaterOfTwoRewritesContinues) {
  ASSERT_OK_AND_ASSIGN(RunWriter old, RunWriter::Rewrite(files_, "run", ExampleHeader(), kOptions));
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
  EXPECT_THAT(old.SetAside("old"), StatusIs(kFailedPrecondition, HasSubstr("another process has taken over this run")));
  EXPECT_OK(writer.SetAside("old"));
}

TEST_F(RunRewriteTest, NeedsAFinishedRun) {
  EXPECT_THAT(RunWriter::Rewrite(files_, "other", ExampleHeader()),
              StatusIs(kFailedPrecondition, HasSubstr("other holds no finished run")));
  EXPECT_THAT(RunWriter::Tidy(files_, "other"), StatusIs(kFailedPrecondition, HasSubstr("no run.h5")));
}

TEST_F(RunRewriteTest, TidyRemovesTheFilesOfARewriteAndKeepsLargeCheckpoints) {
  const std::string finished = Bytes("run/run.h5");
  const std::vector<std::string> large = files_.List("run/checkpoints").value();
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
  }
  ASSERT_OK(WriteFileAtomically(files_, absl::StrCat("run/checkpoints/", kSomeDigest, ".tmp-1-0-0"), "x"));
  ASSERT_OK(RunWriter::Tidy(files_, "run"));
  EXPECT_THAT(files_.List("run").value(), ElementsAre("checkpoints", "run.h5"));
  EXPECT_EQ(files_.List("run/checkpoints").value(), large);
  EXPECT_EQ(Bytes("run/run.h5"), finished);
}

TEST_F(RunRewriteTest, TidyLeavesFilesThatOnlyHaveTheNamesOfARuns) {
  const std::vector<std::string> large = files_.List("run/checkpoints").value();
  {
    ASSERT_OK(RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
  }
  const std::vector<std::string> foreign = {
      "run/epochs/E0001",     "run/epochs/notes.tmp-1-0-0",   absl::StrCat("run/checkpoints/", kSomeDigest),
      "run/journal.E0001",    "run/checkpoints/x.tmp-1-0-0",  "run/run.h5.tmp-old",
      "run/epochs/E0001.tmp", "run/segments/notes.tmp-1-0-0", "run/journal.E0003"};
  for (const std::string& path : foreign) ASSERT_OK(WriteFileAtomically(files_, path, "mine\n"));
  ASSERT_OK(RunWriter::Tidy(files_, "run"));
  for (const std::string& path : foreign) EXPECT_EQ(Bytes(path), "mine\n") << path;
  EXPECT_THAT(files_.List("run/epochs").value(), ElementsAre("E0001", "E0001.tmp", "notes.tmp-1-0-0"));
  EXPECT_EQ(files_.List("run/checkpoints").value().size(), large.size() + 2);
}

TEST_F(RunRewriteTest, StepsThatOnlyARewriteHasAreMovedAside) {
  const auto leave_a_part = [&] {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 2)));  // the run has three rows of step 1
  };
  leave_a_part();
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> moved, RunWriter::Tidy(files_, "run"));
  EXPECT_EQ(moved.size(), 3u);  // the journal and two segments
  leave_a_part();
  ASSERT_OK_AND_ASSIGN(const RunWriter writer, RunWriter::Rewrite(files_, "run", LongerHeader(), kOptions));
  EXPECT_EQ(writer.moved_aside().size(), 1u);
  for (const std::string& path : moved) EXPECT_TRUE(Exists(files_, path).value()) << path;
}

TEST_F(RunRewriteTest, TidyLeavesATidyRunUntouched) {
  const int64_t calls = files_.calls();
  ASSERT_OK(RunWriter::Tidy(files_, "run"));
  for (size_t i = static_cast<size_t>(calls); i < files_.log().size(); ++i) {
    EXPECT_THAT(files_.log()[i], ::testing::ContainsRegex("^(stat|list|open|read|close) ")) << files_.log()[i];
  }
}

TEST_F(RunRewriteTest, TheEpochOfAFinishedRunIsNotClaimedAgain) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(RunWriter old, RunWriter::Create(files, "run", ExampleHeader(), kOptions));
  {
    ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Resume(files, "run", ExampleHeader(), kOptions));
    ASSERT_OK(writer.Finish());
  }
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Rewrite(files, "run", ExampleHeader(), kOptions));
  EXPECT_THAT(old.CommitStep(1, ExampleStep(1, 1)), StatusIs(kFailedPrecondition, HasSubstr("another process")));
  EXPECT_OK(writer.CommitStep(1, ExampleStep(1, 1)));
}

}  // namespace
}  // namespace reprise
