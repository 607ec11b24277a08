// Files of a run that are longer than what is stated of them: each is damaged, and is not read to find that out.

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/find_run.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_state.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/table_file.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using testing::ExampleHeader;
using testing::ExampleStep;
using testing::ExampleTensors;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ViewsOf;
using testing::WriteExampleRun;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr RunWriterOptions kOptions = {.segment_steps = 1, .max_inline_checkpoint_bytes = 500};

class StatedSizeTest : public ::testing::Test {
 protected:
  StatedSizeTest() {
    std::string path = ::testing::TempDir() + "/XXXXXX";
    directory_ = ::mkdtemp(path.data());
    run_ = directory_ + "/run";
  }

  // Appends zeros that take no place on the disk, and more of them than any memory holds.
  static void Lengthen(const std::string& path) {
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 41), 0) << path;
  }

  // Leaves a run of one step whose process is gone.
  void Begin() {
    RunWriter writer = RunWriter::Create(files_, run_, ExampleHeader(), kOptions).value();
    ASSERT_OK(writer.CommitStep(1, ExampleStep(1, 3)));
  }

  FileSystem& files_ = PosixFileSystem();
  std::string directory_, run_;
};

TEST_F(StatedSizeTest, ARunThatIsTooLongIsDamaged) {
  ASSERT_OK(WriteExampleRun(files_, run_, 2));
  Lengthen(run_ + "/run.h5");
  EXPECT_THAT(RunReader::Open(files_, run_ + "/run.h5"), StatusIs(kDataLoss, HasSubstr("run.h5: it was appended to")));
  EXPECT_THAT(FindRun(files_, run_), StatusIs(kDataLoss, HasSubstr("run.h5: it was appended to")));
  EXPECT_THAT(ReadTableFile(files_, run_ + "/run.h5"), StatusIs(kDataLoss, HasSubstr("run.h5: it was appended to")));
}

TEST_F(StatedSizeTest, ACheckpointFileThatIsTooLongIsDamaged) {
  ASSERT_OK(WriteExampleRun(files_, run_, 2, kOptions));
  ASSERT_OK_AND_ASSIGN(const RunReader reader, RunReader::Open(files_, run_ + "/run.h5"));
  Lengthen(run_ + "/checkpoints/" + files_.List(run_ + "/checkpoints").value()[0]);
  EXPECT_THAT(reader.ReadCheckpoint(2, "optimizer"), StatusIs(kDataLoss, HasSubstr("it has 2199023255552 bytes")));
}

TEST_F(StatedSizeTest, AStateThatIsTooLongIsDamagedSoThatAnOlderOneIsUsed) {
  ASSERT_OK(files_.CreateDirectory(run_));
  const std::vector<Tensor> tensors = ExampleTensors(1, 100);
  ASSERT_OK(WriteState(files_, run_, ExampleHeader(), 3, {{"weights", ViewsOf(tensors)}}));
  Lengthen(run_ + "/states/00000003.h5");
  EXPECT_THAT(OpenState(files_, run_, ExampleHeader(), 3),
              StatusIs(kDataLoss, HasSubstr("00000003.h5: it was appended to")));
}

TEST_F(StatedSizeTest, ASegmentThatIsTooLongIsDamaged) {
  Begin();
  Lengthen(run_ + "/segments/E0001-000001.h5");
  for (const absl::Status& status :
       {OpenCommitted(files_, run_, 0).status(), RunWriter::Resume(files_, run_, ExampleHeader(), kOptions).status()}) {
    EXPECT_THAT(status, StatusIs(kDataLoss, HasSubstr("E0001-000001.h5: it is damaged")));
  }
}

TEST_F(StatedSizeTest, ASegmentThatNoJournalNamesAndIsTooLongIsMovedAside) {
  Begin();
  ASSERT_EQ(::link((run_ + "/segments/E0001-000001.h5").c_str(), (run_ + "/segments/E0001-000002.h5").c_str()), 0);
  ASSERT_EQ(::unlink((run_ + "/segments/E0001-000001.h5").c_str()), 0);
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> copy,
                         files_.Open(run_ + "/segments/E0001-000001.h5", OpenMode::kCreate));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> original,
                         files_.Open(run_ + "/segments/E0001-000002.h5", OpenMode::kRead));
    ASSERT_OK(copy->Append(original->ReadAt(0, 1 << 20).value()));
  }
  Lengthen(run_ + "/segments/E0001-000002.h5");
  ASSERT_OK_AND_ASSIGN(const RunWriter writer, RunWriter::Resume(files_, run_, ExampleHeader(), kOptions));
  ASSERT_EQ(writer.moved_aside().size(), 1u);
  EXPECT_EQ(writer.moved_aside()[0], run_ + "/aside/E0001-000002.h5");
}

TEST_F(StatedSizeTest, AJournalThatIsTooLongIsDamaged) {
  Begin();
  Lengthen(run_ + "/journal.E0001");
  EXPECT_THAT(RunWriter::Resume(files_, run_, ExampleHeader(), kOptions),
              StatusIs(kDataLoss, AllOf(HasSubstr("journal.E0001"), HasSubstr("restore the journal from a copy"))));
}

}  // namespace
}  // namespace reprise
