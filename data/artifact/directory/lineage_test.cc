#include "data/artifact/directory/lineage.h"

#include <optional>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kAll = 1 << 20;

JournalEntry Step(int64_t number) { return {"segment", number, 1, Sha256("x"), "s"}; }

// A process that writes the run "run": it claims an epoch, reads the earlier journals, and records which one it
// continues.
struct Process {
  int64_t epoch = 0;
  Lineage past;
  std::optional<JournalWriter> journal;

  void Claim(FileSystem& files) { epoch = ClaimEpoch(files, "run").value(); }
  void Start(FileSystem& files) {
    const absl::StatusOr<Lineage> lineage = ReadLineage(files, "run", epoch);
    EXPECT_OK(lineage);
    past = *lineage;
    journal = JournalWriter::Create(files, JournalPath("run", epoch)).value();
    EXPECT_OK(journal->Append({"parent", past.epoch, past.end.bytes, past.end.chain, "-"}));
  }
  // Returns OK if the step may be acknowledged.
  absl::Status Commit(FileSystem& files, int64_t step) {
    EXPECT_OK(journal->Append(Step(step)));
    return CheckNotFenced(files, "run", epoch);
  }
};

class LineageTest : public ::testing::Test {
 protected:
  LineageTest() {
    EXPECT_OK(files_.CreateDirectory("run"));
    EXPECT_OK(files_.CreateDirectory("run/epochs"));
    EXPECT_OK(files_.SyncDirectory("."));
    EXPECT_OK(files_.SyncDirectory("run"));
  }

  Process Started() {
    Process process;
    process.Claim(files_);
    process.Start(files_);
    return process;
  }

  std::vector<int64_t> Steps() {
    std::vector<int64_t> steps;
    const absl::StatusOr<Lineage> lineage = ReadLineage(files_, "run", kAll);
    EXPECT_OK(lineage);
    if (!lineage.ok()) return steps;
    for (const JournalEntry& entry : lineage->entries) steps.push_back(entry.number);
    return steps;
  }

  FakeFileSystem files_;
};

TEST_F(LineageTest, ReadsAllEpochs) {
  EXPECT_THAT(Steps(), ElementsAre());
  for (const int64_t step : {1, 2, 3}) {
    Process process = Started();
    EXPECT_EQ(process.past.entries.size(), static_cast<size_t>(step - 1));
    EXPECT_OK(process.Commit(files_, step));
    files_.LosePower();
  }
  EXPECT_THAT(Steps(), ElementsAre(1, 2, 3));
}

TEST_F(LineageTest, WritesOfAnOlderProcessAreRejectedAndDoNotBelongToTheRun) {
  Process old = Started();
  EXPECT_OK(old.Commit(files_, 1));
  Process fresh = Started();
  EXPECT_THAT(old.Commit(files_, 2), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("another process has taken over this run (epoch 2")));
  EXPECT_OK(fresh.Commit(files_, 20));
  EXPECT_THAT(Steps(), ElementsAre(1, 20));
  EXPECT_EQ(Started().past.entries.size(), 2u);
}

TEST_F(LineageTest, StepsWrittenBetweenAClaimAndItsReadingAreKept) {
  Process old = Started(), fresh;
  EXPECT_OK(old.Commit(files_, 1));
  fresh.Claim(files_);
  EXPECT_FALSE(old.Commit(files_, 2).ok());  // durable but not acknowledged, so it may be kept
  fresh.Start(files_);
  EXPECT_THAT(Steps(), ElementsAre(1, 2));
}

TEST_F(LineageTest, AProcessThatDiedBeforeItWroteAnythingIsSkipped) {
  Process first = Started(), silent, third;
  EXPECT_OK(first.Commit(files_, 1));
  silent.Claim(files_);
  third = Started();
  EXPECT_OK(third.Commit(files_, 2));
  silent.Start(files_);  // it was only slow, not dead
  EXPECT_FALSE(silent.Commit(files_, 99).ok());
  EXPECT_THAT(Steps(), ElementsAre(1, 2));
}

TEST_F(LineageTest, EveryClaimIsOfALaterEpoch) {
  Process process = Started();
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> epochs, ListEpochs(files_, "run"));
  EXPECT_THAT(epochs, ElementsAre(1));
  EXPECT_EQ(ClaimEpoch(files_, "run").value(), 2);
}

TEST_F(LineageTest, NoEpochIsClaimedWhenNoNumberIsLeft) {
  Started();
  ASSERT_OK(WriteFileAtomically(files_, JoinPath(EpochDirectory("run"), EpochName(kLastEpoch)), "claimed\n"));
  EXPECT_THAT(ClaimEpoch(files_, "run").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("names epoch 1000000000000000")));
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> epochs, ListEpochs(files_, "run"));
  EXPECT_THAT(epochs, ElementsAre(1, kLastEpoch));
}

// An epoch without a journal may also have been claimed: its process and the new one must have different epochs.
TEST_F(LineageTest, AfterClaimsAreLostTheNextEpochIsOneThatNoProcessHas) {
  Process process = Started();
  Process silent;
  silent.Claim(files_);
  ASSERT_OK(files_.Unlink("run/epochs/E0001"));
  ASSERT_OK(files_.Unlink("run/epochs/E0002"));
  EXPECT_GE(ClaimEpoch(files_, "run").value(), 100'000'000);
  EXPECT_FALSE(CheckNotFenced(files_, "run", silent.epoch).ok());
}

TEST_F(LineageTest, AMissingOrDifferentParentIsCorruption) {
  Process first = Started();
  EXPECT_OK(first.Commit(files_, 1));
  Process second = Started();
  ASSERT_OK(files_.Unlink("run/journal.E0001"));
  EXPECT_THAT(ReadLineage(files_, "run", kAll).status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("E0001")));
}

}  // namespace
}  // namespace reprise::internal
