// Symbolic links in a run's directory: what they lead to may be another run's, whose files look like this one's.

#include <unistd.h>

#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/find_run.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_state.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using testing::ExampleHeader;
using testing::ExampleStep;
using testing::ExampleTensors;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ViewsOf;
using testing::WriteExampleRun;

constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

class LinksTest : public ::testing::Test {
 protected:
  LinksTest() {
    std::string path = ::testing::TempDir() + "/XXXXXX";
    const std::string directory = ::mkdtemp(path.data());
    run_ = directory + "/run";
    other_ = directory + "/other";
    Begin(other_);
  }

  // Leaves a run with files of every kind whose process is gone.
  void Begin(const std::string& run) {
    const std::vector<Tensor> tensors = ExampleTensors(7, 200);
    RunWriter writer = RunWriter::Create(files_, run, ExampleHeader(), kOptions).value();
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
    ASSERT_OK(writer.AddCheckpoint(1, "weights", ViewsOf(tensors)));
    ASSERT_OK(writer.Flush());
    ASSERT_OK(WriteState(files_, run, ExampleHeader(), 1, {{"weights", ViewsOf(tensors)}}));
    ASSERT_OK(files_.CreateDirectory(run + "/aside"));
  }

  void LinkToOther(const std::string& name) {
    ASSERT_EQ(::symlink((other_ + "/" + name).c_str(), (run_ + "/" + name).c_str()), 0);
  }

  static auto RefusesLink(const std::string& name) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/" + name + " is a symbolic link"));
  }

  FileSystem& files_ = PosixFileSystem();
  const std::vector<std::string> names_ = {"epochs", "segments", "checkpoints", "states", "aside"};
  std::string run_, other_;
};

TEST_F(LinksTest, ANewRunIsNotWrittenThroughThem) {
  for (const std::string& name : names_) {
    ASSERT_OK(files_.CreateDirectory(run_));
    LinkToOther(name);
    EXPECT_THAT(RunWriter::Create(files_, run_, ExampleHeader(), kOptions), RefusesLink(name));
    ASSERT_OK(files_.Unlink(run_ + "/" + name));
    ASSERT_OK(files_.RemoveDirectory(run_));
  }
}

TEST_F(LinksTest, ARunIsNeitherResumedNorReadThroughThem) {
  Begin(run_);
  for (const std::string& name : names_) {
    const std::string own = run_ + "/" + name;
    ASSERT_OK(files_.RenameNoReplace(own, own + ".away"));
    LinkToOther(name);
    EXPECT_THAT(RunWriter::Resume(files_, run_, ExampleHeader(), kOptions), RefusesLink(name));
    EXPECT_THAT(FindRun(files_, run_), RefusesLink(name));
    ASSERT_OK(files_.Unlink(own));
    ASSERT_OK(files_.RenameNoReplace(own + ".away", own));
  }
  ASSERT_EQ(::rename((run_ + "/journal.E0001").c_str(), (run_ + "/a").c_str()), 0);
  LinkToOther("journal.E0001");
  EXPECT_THAT(RunWriter::Resume(files_, run_, ExampleHeader(), kOptions), RefusesLink("journal.E0001"));
}

TEST_F(LinksTest, NothingIsRemovedThroughThemWhenARunIsTidied) {
  ASSERT_OK(WriteExampleRun(files_, run_, 2));
  for (const std::string name : {"epochs", "segments"}) {
    LinkToOther(name);
    EXPECT_THAT(RunWriter::Tidy(files_, run_), RefusesLink(name));
    EXPECT_THAT(RunWriter::Rewrite(files_, run_, ExampleHeader(), kOptions), RefusesLink(name));
    ASSERT_OK(files_.Unlink(run_ + "/" + name));
  }
  LinkToOther("states");
  EXPECT_THAT(RetireStates(files_, run_, 0), RefusesLink("states"));
  EXPECT_THAT(WriteState(files_, run_, ExampleHeader(), 2, {}), RefusesLink("states"));
  EXPECT_OK(RunWriter::Resume(files_, other_, ExampleHeader(), kOptions));
  EXPECT_OK(OpenState(files_, other_, ExampleHeader(), 1));
}

TEST_F(LinksTest, ARunIsNotStartedWhereALinkThatLeadsNowhereHasItsName) {
  ASSERT_OK(files_.CreateDirectory(run_));
  ASSERT_EQ(::symlink("nowhere", (run_ + "/run.h5").c_str()), 0);
  EXPECT_THAT(RunWriter::Create(files_, run_, ExampleHeader(), kOptions),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("already holds a run (run.h5)")));
}

TEST_F(LinksTest, TheRunsDirectoryMayBeOne) {
  ASSERT_OK(files_.CreateDirectory(run_));
  const std::string link = run_ + "-link";
  ASSERT_EQ(::symlink(run_.c_str(), link.c_str()), 0);
  Begin(link);
  ASSERT_OK_AND_ASSIGN(RunWriter writer, RunWriter::Resume(files_, link, ExampleHeader(), kOptions));
  ASSERT_OK(writer.Finish());
  EXPECT_OK(RunReader::Open(files_, link + "/run.h5"));
}

}  // namespace
}  // namespace reprise
