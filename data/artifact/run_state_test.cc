#include "data/artifact/run_state.h"

#include <cerrno>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/testing/example_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using testing::ExampleHeader;
using testing::ExampleTensors;
using ::testing::IsEmpty;
using testing::StatusIs;
using testing::ViewsOf;

absl::Status Write(FileSystem& files, int64_t step) {
  const std::vector<Tensor> weights = ExampleTensors(step, 100), moments = ExampleTensors(step + 1, 100);
  const std::vector<TensorGroup> groups = {{"weights", ViewsOf(weights)}, {"moments", ViewsOf(moments)}};
  return WriteState(files, "run", ExampleHeader(), step, groups);
}

void ExpectState(FileSystem& files, int64_t step) {
  const auto state = OpenState(files, "run", ExampleHeader(), step);
  ASSERT_OK(state);
  const auto moments = state->ReadCheckpoint(step, "moments");
  ASSERT_OK(moments);
  const std::vector<Tensor> expected = ExampleTensors(step + 1, 100);
  ASSERT_EQ(moments->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*moments)[i].name(), expected[i].name());
    EXPECT_EQ((*moments)[i].bytes(), expected[i].bytes());
  }
}

TEST(RunStateTest, AStateReturnsItsTensors) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  EXPECT_THAT(ListStates(files, "run").value(), IsEmpty());
  ASSERT_OK(Write(files, 64));
  ASSERT_OK(Write(files, 8));
  ASSERT_OK(Write(files, 8));  // already exists
  EXPECT_THAT(ListStates(files, "run").value(), ElementsAre(8, 64));
  ExpectState(files, 8);
  ExpectState(files, 64);
}

TEST(RunStateTest, AStateOfAnotherRunOrStepOrWithAFlippedBitIsRefused) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  ASSERT_OK(Write(files, 3));
  RunHeader other = ExampleHeader();
  other.config_text += "run.seed = 2\n";
  EXPECT_THAT(OpenState(files, "run", other, 3), StatusIs(absl::StatusCode::kDataLoss, _));
  ASSERT_OK(files.Link("run/states/00000003.h5", "run/states/00000004.h5"));
  EXPECT_THAT(OpenState(files, "run", ExampleHeader(), 4), StatusIs(absl::StatusCode::kDataLoss, _));
  std::string bytes = ReadFile(files, "run/states/00000003.h5", 1 << 20).value();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_OK(files.Unlink("run/states/00000003.h5"));
  const auto file = files.Open("run/states/00000003.h5", OpenMode::kCreate);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(bytes));
  EXPECT_THAT(OpenState(files, "run", ExampleHeader(), 3), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST(RunStateTest, TheNewestAreKeptAndUnfinishedOnesRemoved) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  for (const int64_t step : {1, 2, 3}) ASSERT_OK(Write(files, step));
  ASSERT_OK(files.Open("run/states/00000009.h5.tmp-1-2-3", OpenMode::kCreate));
  ASSERT_OK(RetireStates(files, "run", 2));
  EXPECT_THAT(files.List("run/states").value(), ElementsAre("00000002.h5", "00000003.h5"));
  ASSERT_OK(RetireStates(files, "run", 0));
  EXPECT_THAT(files.Stat("run/states"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_OK(RetireStates(files, "run", 0));
}

TEST(RunStateTest, AProcessThatWasReplacedRemovesNothing) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  for (const int64_t step : {1, 2, 3}) ASSERT_OK(Write(files, step));
  const auto replaced = [] { return absl::FailedPreconditionError("replaced"); };
  EXPECT_THAT(RetireStates(files, "run", 1, replaced), StatusIs(absl::StatusCode::kFailedPrecondition, "replaced"));
  EXPECT_THAT(ListStates(files, "run").value(), ElementsAre(1, 2, 3));
}

TEST(RunStateTest, WhatAnotherProcessBeginsAfterTheCheckOfTheOwnerStays) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  ASSERT_OK(Write(files, 1));
  const auto another_begins = [&files] {
    return files.Open("run/states/00000002.h5.tmp-1-2-3", OpenMode::kCreate).status();
  };
  EXPECT_OK(RetireStates(files, "run", 1, another_begins));
  EXPECT_THAT(files.List("run/states").value(), ElementsAre("00000001.h5", "00000002.h5.tmp-1-2-3"));
}

TEST(RunStateTest, ADirectoryWithTheNameOfAStateStays) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  ASSERT_OK(Write(files, 2));
  ASSERT_OK(files.CreateDirectory("run/states/00000001.h5"));
  EXPECT_OK(RetireStates(files, "run", 0));
  EXPECT_THAT(files.List("run/states").value(), ElementsAre("00000001.h5"));
}

TEST(RunStateTest, AFileThatOnlyHasTheNameOfAStateStays) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  ASSERT_OK(Write(files, 2));
  for (const std::string name : {"00000001.h5", "notes.h5.tmp-1-2-3", "00000003.h5.tmp-old", "00000004.h5.tmp-1-2-3"}) {
    ASSERT_OK(WriteFileAtomically(files, "run/states/" + name, "mine"));
  }
  EXPECT_OK(RetireStates(files, "run", 0));
  EXPECT_THAT(files.List("run/states").value(),
              ElementsAre("00000001.h5", "00000003.h5.tmp-old", "00000004.h5.tmp-1-2-3", "notes.h5.tmp-1-2-3"));
}

TEST(RunStateTest, EveryErrorIsReportedAndLeavesEveryStateWhole) {
  FakeFileSystem whole;
  ASSERT_OK(whole.CreateDirectory("run"));
  ASSERT_OK(Write(whole, 1));
  for (int64_t call = 1; call < whole.calls(); ++call) {
    FakeFileSystem files;
    ASSERT_OK(files.CreateDirectory("run"));
    files.FailCall(call, ENOSPC);
    EXPECT_TRUE(IsFileError(Write(files, 1))) << files.log().back();
    files.FailCall(-1, 0);
    const auto steps = ListStates(files, "run");
    ASSERT_OK(steps);
    if (!steps->empty()) ExpectState(files, 1);
  }
}

// Does what a writer of states does: the newest two remain.
absl::Status WriteThree(FileSystem& files) {
  for (const int64_t step : {1, 2, 3}) {
    RETURN_IF_ERROR(Write(files, step));
    RETURN_IF_ERROR(RetireStates(files, "run", 2));
  }
  return absl::OkStatus();
}

// Expects that every existing state is whole, that there is a state if there was one before, and that the writer can
// start again.
void ExpectSurvived(FakeFileSystem& files, bool had_one) {
  const auto steps = ListStates(files, "run");
  ASSERT_OK(steps);
  EXPECT_TRUE(!had_one || !steps->empty());
  for (const int64_t step : *steps) ExpectState(files, step);
  ASSERT_OK(WriteThree(files));
  EXPECT_THAT(files.List("run/states").value(), ElementsAre("00000002.h5", "00000003.h5"));
}

// The process that wrote it died before its name was durable; the next one, which finds it, removes older states.
TEST(RunStateTest, AStateThatIsFoundIsMadeDurable) {
  FakeFileSystem files;
  ASSERT_OK(files.CreateDirectory("run"));
  ASSERT_OK(files.SyncDirectory("."));
  ASSERT_OK(Write(files, 1));
  const int64_t begin = files.calls();
  ASSERT_OK(Write(files, 2));
  files.Restart();
  FakeFileSystem other;
  ASSERT_OK(other.CreateDirectory("run"));
  ASSERT_OK(other.SyncDirectory("."));
  ASSERT_OK(Write(other, 1));
  ASSERT_EQ(other.calls(), begin);
  other.Kill(files.calls() - 1, /*torn=*/false);  // the synchronization of the directory
  EXPECT_FALSE(Write(other, 2).ok());
  other.Restart();
  ASSERT_OK(Write(other, 2));
  other.LosePower();
  EXPECT_THAT(ListStates(other, "run").value(), ElementsAre(1, 2));
}

TEST(RunStateTest, AKillOrPowerFailureAtAnyCallLeavesAWholeState) {
  FakeFileSystem undisturbed;
  ASSERT_OK(undisturbed.CreateDirectory("run"));
  ASSERT_OK(undisturbed.SyncDirectory("."));
  const int64_t begin = undisturbed.calls();
  ASSERT_OK(Write(undisturbed, 1));
  const int64_t first = undisturbed.calls();  // from this call on there is a state
  ASSERT_OK(WriteThree(undisturbed));
  const int64_t calls = undisturbed.calls();
  EXPECT_GT(calls - begin, 30);
  for (int64_t call = begin; call < calls; ++call) {
    for (int seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(undisturbed.log()[call]);
      FakeFileSystem files;
      ASSERT_OK(files.CreateDirectory("run"));
      ASSERT_OK(files.SyncDirectory("."));
      files.Kill(call, /*torn=*/seed == 1);
      EXPECT_FALSE(Write(files, 1).ok() && WriteThree(files).ok());
      files.Restart();
      if (seed >= 2) files.LosePower(static_cast<uint64_t>(call * 2 + seed));
      ExpectSurvived(files, call >= first);
    }
  }
}

}  // namespace
}  // namespace reprise
