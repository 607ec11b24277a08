#include "pipelines/sweeps/sweep_folder.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/sweep_plan.h"
#include "pipelines/sweeps/trial_leftovers.h"
#include "pipelines/sweeps/trials/trial_facts.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

StoredPlan MakePlan(const std::string& metric, int64_t seeds = 2) {
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

// Two trials, with all that follows from their configurations.
SweepPlan TwoTrials() {
  SweepPlan sweep = {.axes = {"run.seed"}, .compare = {}, .trials = {}, .also_differing = {}};
  for (int64_t seed = 1; seed <= 2; ++seed) {
    Trial trial = {.index = seed - 1,
                   .name = absl::StrCat(seed - 1, "-seed", seed),
                   .varied = {0},
                   .arm = "all",
                   .settings = {absl::StrCat(seed)}};
    trial.config.config.run.seed = seed;
    sweep.trials.push_back(std::move(trial));
  }
  return sweep;
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
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("rewrad")));
  Write("sweep.md", "the table of the other metric");
  ASSERT_OK(CheckFolder(files_, directory_, MakePlan("reward")));
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
  EXPECT_EQ(StoredMetric(), "rewrad") << "only the holder of the lock changes it";
  EXPECT_THAT(UpdatePlan(files_, directory_, MakePlan("reward"), /*is_task=*/true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("the same command without --tasks keeps")));
  ASSERT_OK_AND_ASSIGN(bool is_updated, UpdatePlan(files_, directory_, MakePlan("reward"), /*is_task=*/false));
  EXPECT_TRUE(is_updated);
  EXPECT_EQ(StoredMetric(), "reward");
  EXPECT_FALSE(Has("sweep.md"));
  ASSERT_OK_AND_ASSIGN(is_updated, UpdatePlan(files_, directory_, MakePlan("reward"), /*is_task=*/true));
  EXPECT_FALSE(is_updated);
  EXPECT_THAT(CheckFolder(files_, directory_, MakePlan("reward", 3)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it has 2 trials, this one has 3")));
}

TEST_F(SweepFolderTest, AFileThatTrialsReadMayAppearAndMayNotChange) {
  const auto with_file = [](const std::string& contents) {
    StoredPlan plan = MakePlan("reward");
    plan.trials[1].files = {{"data/problems", Sha256(contents)}};
    return plan;
  };
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
  EXPECT_THAT(UpdatePlan(files_, directory_, with_file("a"), /*is_task=*/true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("files could not be read before")));
  ASSERT_OK(UpdatePlan(files_, directory_, with_file("a"), /*is_task=*/false));
  ASSERT_OK(CheckFolder(files_, directory_, with_file("a")));
  EXPECT_THAT(CheckFolder(files_, directory_, with_file("b")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("data/problems of trial 01-seed2 is another file than when the sweep in")));
}

TEST_F(SweepFolderTest, OfFilesThatAreGoneThePlanHasTheDigestsAndNothingElse) {
  const SweepPlan sweep = TwoTrials();
  StoredPlan with_file = MakeStoredPlan(sweep);
  SetFiles(StoredText(sweep.trials[1].config.config), {{"data/problems", Sha256("a")}}, sweep.axes,
           &with_file.trials[1]);
  Write(kPlanFile, PlanText(with_file));
  StoredPlan unread = MakeStoredPlan(sweep);
  TakeStoredFiles(files_, directory_, sweep, &unread);
  EXPECT_EQ(PlanText(unread), PlanText(with_file));

  // By another problem, trials of other data would be compared, and those of equal data not.
  for (size_t i = 0; i < 2; ++i) {
    StoredPlan forged = with_file;
    forged.trials[i].problem = "0123456789ab";
    ASSERT_OK(files_.Unlink(JoinPath(directory_, kPlanFile)));
    Write(kPlanFile, PlanText(forged));
    unread = MakeStoredPlan(sweep);
    TakeStoredFiles(files_, directory_, sweep, &unread);
    EXPECT_EQ(PlanText(unread), PlanText(with_file));
    EXPECT_THAT(CheckFolder(files_, directory_, unread),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("plan.json: the problem of trial ", sweep.trials[i].name,
                                                " is not that of its configuration and files, so that the plan was "
                                                "altered; remove it, and the command"))));
  }
}

// Whoever can write to the folder must not lead the sweep out of it.
TEST_F(SweepFolderTest, ALinkOrAThingOfAnotherKindIsNeitherFollowedNorReplaced) {
  const std::string outside = absl::StrCat(::testing::TempDir(), "/outside_of_the_sweep");
  const auto is_refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(what));
  };
  for (const bool has_plan : {false, true}) {
    for (const char* const name :
         {"trials", "trials/00-seed1", "watchdog", "dealing", "sweep.h5", "sweep.csv", "sweep.md", "plan.json"}) {
      for (const std::string& target : {outside, std::string("nowhere"), std::string(name)}) {
        std::filesystem::remove_all(directory_);
        std::filesystem::remove_all(outside);
        std::filesystem::create_directories(outside);
        ASSERT_OK(CreateDirectories(files_, directory_));
        const absl::Status opened = has_plan ? OpenFolder(files_, directory_, MakePlan("reward")) : absl::OkStatus();
        ASSERT_OK(opened);
        const std::string path = JoinPath(directory_, name);
        ASSERT_OK(CreateDirectories(files_, DirectoryOf(path)));
        std::filesystem::remove_all(path);
        std::filesystem::create_symlink(target, path);
        for (const auto check : {CheckFolder, OpenFolder}) {
          EXPECT_THAT(check(files_, directory_, MakePlan("reward")), is_refused(path + " is a symbolic link"));
        }
        EXPECT_TRUE(std::filesystem::is_empty(outside)) << name;
      }
    }
  }
  std::filesystem::remove_all(directory_);
  for (const char* const name : {"trials", "trials/00-seed1"}) {
    Write(name, "notes");
    EXPECT_THAT(CheckFolder(files_, directory_, MakePlan("reward")),
                is_refused(absl::StrCat("/", name, " is no directory, and files are written below it: move it away")));
    std::filesystem::remove(JoinPath(directory_, name));
  }
  for (const char* const name : {"sweep.h5", "sweep.csv", "sweep.md", "plan.json"}) {
    ASSERT_OK(CreateDirectories(files_, JoinPath(directory_, name)));
    EXPECT_THAT(CheckFolder(files_, directory_, MakePlan("reward")),
                is_refused(absl::StrCat("/", name, " is a directory, and a file is written there: move it away")));
    EXPECT_THAT(WriteTable(files_, directory_, {"h5", "csv", "md"}).ok(), name == std::string("plan.json"));
    EXPECT_EQ(RemoveTable(files_, directory_).ok(), name == std::string("plan.json"));
    std::filesystem::remove(JoinPath(directory_, name));
  }
}

// 2 TiB of nothing.
TEST_F(SweepFolderTest, AHugeFileInThePlaceOfATableIsNotRead) {
  Write(kCsvFile, "");
  std::filesystem::resize_file(JoinPath(directory_, kCsvFile), uintmax_t{1} << 41);
  ASSERT_OK_AND_ASSIGN(const bool is_same, HasContents(files_, JoinPath(directory_, kCsvFile), "csv"));
  EXPECT_FALSE(is_same);
  ASSERT_OK(WriteTable(files_, directory_, {"h5", "csv", "md"}));
  ASSERT_OK_AND_ASSIGN(const std::string csv, ReadFile(files_, JoinPath(directory_, kCsvFile), 100));
  EXPECT_EQ(csv, "csv");
}

TEST_F(SweepFolderTest, AFileThatIsNotKnownToBeASweepsIsNotReplaced) {
  Write("sweep.md", "notes of my own");
  EXPECT_THAT(CheckFolder(files_, directory_, MakePlan("reward")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("holds sweep.md and no plan.json")));
}

// What the sentence about a damaged plan advises.
TEST_F(SweepFolderTest, ALostPlanIsWrittenAgain) {
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
  ASSERT_OK(files_.Unlink(JoinPath(directory_, kPlanFile)));
  Write(kPlanFile, "{");
  const auto is_corruption = StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("; remove it, and the command that started the sweep writes it again"));
  EXPECT_THAT(ReadPlan(files_, directory_), is_corruption);
  EXPECT_THAT(CheckFolder(files_, directory_, MakePlan("reward")), is_corruption);
  ASSERT_OK(files_.Unlink(JoinPath(directory_, kPlanFile)));
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
  EXPECT_EQ(StoredMetric(), "reward");
}

TEST_F(SweepFolderTest, TheFolderOfASweepIsNoPlaceForAnother) {
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
  for (const char* const name : {"trials", "trials/00-seed1", "trials/new/nested", "beside"}) {
    EXPECT_THAT(CheckFolder(files_, JoinPath(directory_, name), MakePlan("reward")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("is within the folder of the sweep in ", directory_))));
  }
  EXPECT_OK(CheckFolder(files_, directory_ + "-2", MakePlan("reward")));
}

TEST_F(SweepFolderTest, TasksShareTheFolderAndExcludeAPlainSweep) {
  ASSERT_OK(OpenFolder(files_, directory_, MakePlan("reward")));
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
  ASSERT_OK_AND_ASSIGN(std::string aside, MoveLeftoversAside(files_, trial));
  EXPECT_EQ(aside, "") << "it does not exist";
  Write("trials/00-seed1/attempts.log", "");
  ASSERT_OK_AND_ASSIGN(aside, MoveLeftoversAside(files_, trial));
  EXPECT_EQ(aside, "") << "a trial may begin there";
  for (const char* const name : {"trials/00-seed1.aside1", "trials/00-seed1.aside2"}) {
    Write("trials/00-seed1/model/config.json", "{}");
    ASSERT_OK_AND_ASSIGN(aside, MoveLeftoversAside(files_, trial));
    EXPECT_EQ(aside, JoinPath(directory_, name));
    EXPECT_TRUE(Has(absl::StrCat(name, "/model/config.json")));
    EXPECT_FALSE(Has("trials/00-seed1"));
  }
}

TEST_F(SweepFolderTest, ATrialThatIsListedTwiceIsCorruption) {
  StoredPlan plan = MakePlan("reward");
  plan.trials.push_back(plan.trials.front());
  Write(kPlanFile, PlanText(plan));
  EXPECT_THAT(ReadPlan(files_, directory_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/trials/2: its name is that of another trial")));
}

}  // namespace
}  // namespace reprise
