#include "pipelines/sweeps/sweep_folder.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/trial_remains.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

StoredPlan PlanOf(const std::string& metric, int64_t seeds = 2) {
  StoredPlan plan = {.axes = {"run.seed"}, .compare = {.metric = metric}, .trials = {}};
  for (int64_t seed = 1; seed <= seeds; ++seed) {
    plan.trials.push_back({.name = absl::StrCat("0", seed - 1, "-seed", seed),
                           .arm = "all",
                           .problem = "p",
                           .config_sha256 = std::string(64, 'c'),
                           .base = 0,
                           .seed = seed,
                           .settings = {absl::StrCat(seed)}});
  }
  return plan;
}

class SweepFolderTest : public ::testing::Test {
 protected:
  SweepFolderTest() { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_OK(CreateDirectories(files_, DirectoryOf(JoinPath(directory_, name))));
    ASSERT_OK(WriteFileAtomically(files_, JoinPath(directory_, name), text));
  }
  bool Has(const std::string& name) { return files_.Stat(JoinPath(directory_, name)).ok(); }
  std::string StoredMetric() {
    const absl::StatusOr<StoredPlan> plan = ReadPlan(files_, directory_);
    return plan.ok() ? plan->compare.metric : std::string(plan.status().message());
  }

  const std::string directory_ = absl::StrCat(::testing::TempDir(), "/sweep_folder");
  FileSystem& files_ = PosixFileSystem();
};

// A night's trials must not be lost for a metric that was misspelt.
TEST_F(SweepFolderTest, TheComparisonOfAFolderMayBeChangedAndItsTrialsMayNot) {
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("rewrad")));
  Write("sweep.md", "the table of the other metric");
  ASSERT_OK(CheckFolder(files_, directory_, PlanOf("reward")));
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  EXPECT_EQ(StoredMetric(), "rewrad") << "only the holder of the lock changes it";
  EXPECT_THAT(UpdatePlan(files_, directory_, PlanOf("reward"), /*is_task=*/true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("the same command without --tasks keeps")));
  ASSERT_OK_AND_ASSIGN(bool is_updated, UpdatePlan(files_, directory_, PlanOf("reward"), /*is_task=*/false));
  EXPECT_TRUE(is_updated);
  EXPECT_EQ(StoredMetric(), "reward");
  EXPECT_FALSE(Has("sweep.md"));
  ASSERT_OK_AND_ASSIGN(is_updated, UpdatePlan(files_, directory_, PlanOf("reward"), /*is_task=*/true));
  EXPECT_FALSE(is_updated);
  EXPECT_THAT(CheckFolder(files_, directory_, PlanOf("reward", 3)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it has 2 trials, this one has 3")));
}

TEST_F(SweepFolderTest, AFileThatTrialsReadMayAppearAndMayNotChange) {
  const auto with_file = [](const std::string& contents) {
    StoredPlan plan = PlanOf("reward");
    plan.trials[1].files = {{"data/problems", Sha256(contents)}};
    return plan;
  };
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  EXPECT_THAT(UpdatePlan(files_, directory_, with_file("a"), /*is_task=*/true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("files could not be read before")));
  ASSERT_OK(UpdatePlan(files_, directory_, with_file("a"), /*is_task=*/false));
  ASSERT_OK(CheckFolder(files_, directory_, with_file("a")));
  EXPECT_THAT(CheckFolder(files_, directory_, with_file("b")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("data/problems of trial 01-seed2 is another file than when the sweep in")));
  StoredPlan unread = PlanOf("reward");  // the file is gone again
  TakeStoredFiles(files_, directory_, &unread);
  EXPECT_EQ(PlanText(unread), PlanText(with_file("a")));
}

TEST_F(SweepFolderTest, AFileThatIsNotKnownToBeASweepsIsNotReplaced) {
  Write("sweep.md", "notes of my own");
  EXPECT_THAT(CheckFolder(files_, directory_, PlanOf("reward")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("holds sweep.md and no plan.json")));
}

// What the sentence about a damaged plan advises.
TEST_F(SweepFolderTest, ALostPlanIsWrittenAgain) {
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  ASSERT_OK(files_.Unlink(JoinPath(directory_, kPlanFile)));
  Write(kPlanFile, "{");
  const auto is_damage = StatusIs(absl::StatusCode::kDataLoss,
                                  HasSubstr("; remove it, and the command that started the sweep writes it again"));
  EXPECT_THAT(ReadPlan(files_, directory_), is_damage);
  EXPECT_THAT(CheckFolder(files_, directory_, PlanOf("reward")), is_damage);
  ASSERT_OK(files_.Unlink(JoinPath(directory_, kPlanFile)));
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  EXPECT_EQ(StoredMetric(), "reward");
}

TEST_F(SweepFolderTest, TheFolderOfASweepIsNoPlaceForAnother) {
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  for (const char* const name : {"trials", "trials/00-seed1", "trials/new/nested", "beside"}) {
    EXPECT_THAT(CheckFolder(files_, JoinPath(directory_, name), PlanOf("reward")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("is within the folder of the sweep in ", directory_))));
  }
  EXPECT_OK(CheckFolder(files_, directory_ + "-2", PlanOf("reward")));
}

TEST_F(SweepFolderTest, TasksShareTheFolderAndExcludeAPlainSweep) {
  ASSERT_OK(OpenFolder(files_, directory_, PlanOf("reward")));
  const auto is_refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("works on the sweep in " + directory_));
  {
    ASSERT_OK_AND_ASSIGN(const SweepLock first, LockFolder(directory_, "task0of2"));
    ASSERT_OK_AND_ASSIGN(const SweepLock second, LockFolder(directory_, "task1of2"));
    EXPECT_THAT(LockFolder(directory_, "task1of2"), is_refused);
    EXPECT_THAT(LockFolder(directory_, "task2of3"), is_refused);
    EXPECT_THAT(LockFolder(directory_, ""), is_refused);
  }
  EXPECT_OK(LockFolder(directory_, "task2of3"));
  {
    ASSERT_OK_AND_ASSIGN(const SweepLock whole, LockFolder(directory_, ""));
    EXPECT_THAT(LockFolder(directory_, "task0of2"), is_refused);
    EXPECT_THAT(LockFolder(directory_, ""), is_refused);
  }
  EXPECT_OK(LockFolder(directory_, ""));
}

TEST_F(SweepFolderTest, WhatIsLeftOfATrialWithoutItsRunIsSetAside) {
  const std::string trial = JoinPath(directory_, "trials/00-seed1");
  ASSERT_OK_AND_ASSIGN(std::string aside, SetAsideRemains(files_, trial));
  EXPECT_EQ(aside, "") << "it does not exist";
  Write("trials/00-seed1/attempts.log", "");
  ASSERT_OK_AND_ASSIGN(aside, SetAsideRemains(files_, trial));
  EXPECT_EQ(aside, "") << "a trial may begin there";
  for (const char* const name : {"trials/00-seed1.aside1", "trials/00-seed1.aside2"}) {
    Write("trials/00-seed1/model/config.json", "{}");
    ASSERT_OK_AND_ASSIGN(aside, SetAsideRemains(files_, trial));
    EXPECT_EQ(aside, JoinPath(directory_, name));
    EXPECT_TRUE(Has(absl::StrCat(name, "/model/config.json")));
    EXPECT_FALSE(Has("trials/00-seed1"));
  }
}

TEST_F(SweepFolderTest, ATrialThatIsListedTwiceIsDamage) {
  StoredPlan plan = PlanOf("reward");
  plan.trials.push_back(plan.trials.front());
  Write(kPlanFile, PlanText(plan));
  EXPECT_THAT(ReadPlan(files_, directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/trials/2: its name is that of another trial")));
}

}  // namespace
}  // namespace reprise
