#include "pipelines/sweeps/teams/assign_trials.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using RunFunction = std::function<absl::Status(Communicator& team, int64_t trial)>;
using FailFunction = std::function<absl::Status(int64_t trial, const absl::Status& error)>;

std::vector<int64_t> FirstTrials(int64_t count) {
  std::vector<int64_t> trials(static_cast<size_t>(count));
  std::iota(trials.begin(), trials.end(), int64_t{0});
  return trials;
}

TeamPlan MakePlan(const std::vector<int>& sizes) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return {.sizes = sizes, .directory = absl::StrCat(::testing::TempDir(), "/", test->name(), "/dealing")};
}

// What the ranks of a world did; its functions may be called by all of them at once.
class Journal {
 public:
  void Ran(const Communicator& team, int64_t trial) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (team.rank() == 0) started_.push_back(trial);
    ++ranks_[trial];
    sizes_[trial] = team.size();
  }
  std::vector<int64_t> started() const { return started_; }
  int ranks(int64_t trial) const { return ranks_.contains(trial) ? ranks_.at(trial) : 0; }
  int size(int64_t trial) const { return sizes_.at(trial); }

 private:
  std::mutex mutex_;
  std::vector<int64_t> started_;
  std::map<int64_t, int> ranks_, sizes_;
};

absl::Status NoFailure(int64_t trial, const absl::Status& error) {
  ADD_FAILURE() << "trial " << trial << ": " << error;
  return absl::OkStatus();
}

absl::Status Deal(const TeamPlan& plan, const std::vector<int64_t>& pending, const RunFunction& run,
                  const FailFunction& fail = NoFailure) {
  const int ranks = std::accumulate(plan.sizes.begin(), plan.sizes.end(), 0);
  return RunAsRanks(ranks, [&](Communicator& world) { return AssignTrials(world, plan, pending, run, fail); });
}

// Waits, for ten seconds at most, until something that another team does has happened.
bool Eventually(const std::function<bool()>& happened) {
  for (int i = 0; i < 10000; ++i) {
    if (happened()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(AssignTrialsTest, EveryTrialIsRunOnceByAllRanksOfOneTeam) {
  for (const std::vector<int>& sizes : {std::vector<int>{1}, {2}, {1, 1}, {2, 1}, {1, 2, 1}, {1, 1, 1, 1}, {2, 2}}) {
    Journal journal;
    const TeamPlan plan = MakePlan(sizes);
    EXPECT_OK(Deal(plan, FirstTrials(13), [&](Communicator& team, int64_t trial) {
      journal.Ran(team, trial);
      return team.Barrier();
    }));
    EXPECT_EQ(journal.started().size(), 13u);
    for (const int64_t trial : FirstTrials(13)) EXPECT_EQ(journal.ranks(trial), journal.size(trial));
    EXPECT_FALSE(std::filesystem::exists(plan.directory));
  }
}

TEST(AssignTrialsTest, NothingPendingIsDone) {
  EXPECT_OK(Deal(MakePlan({1, 2}), {}, [](Communicator&, int64_t) { return absl::InternalError("no trial"); }));
}

TEST(AssignTrialsTest, AFreeTeamTakesTheNextTrial) {
  std::atomic<int> done = 0;
  EXPECT_OK(Deal(MakePlan({1, 1, 2}), FirstTrials(20), [&](Communicator& team, int64_t trial) {
    if (trial == 0) {
      EXPECT_TRUE(Eventually([&] { return done >= 19; }));
    }
    done += team.rank() == 0 ? 1 : 0;
    return absl::OkStatus();
  }));
}

TEST(AssignTrialsTest, OneAtATimeIsTheLargestTeamWhileTheOthersWait) {
  TeamPlan plan = MakePlan({1, 2, 1});
  plan.one_at_a_time = true;
  Journal journal;
  std::atomic<int> working = 0;
  EXPECT_OK(Deal(plan, {5, 3, 4}, [&](Communicator& team, int64_t trial) {
    EXPECT_LE(++working, 2) << "the ranks of one team";
    journal.Ran(team, trial);
    RETURN_IF_ERROR(team.Barrier());
    --working;
    return team.Barrier();
  }));
  EXPECT_THAT(journal.started(), ElementsAre(5, 3, 4));
  for (const int64_t trial : {3, 4, 5}) EXPECT_EQ(journal.size(trial), 2);
}

TEST(AssignTrialsTest, TheMostExpensiveTrialsComeFirstAndEqualOnesInOrder) {
  TeamPlan plan = MakePlan({2});
  plan.costs = {1, 5, 2, 5, 3};
  Journal journal;
  EXPECT_OK(Deal(plan, {10, 11, 12, 13, 14}, [&](Communicator& team, int64_t trial) {
    journal.Ran(team, trial);
    return absl::OkStatus();
  }));
  EXPECT_THAT(journal.started(), ElementsAre(11, 13, 14, 12, 10));
}

TEST(AssignTrialsTest, SeveralTeamsBeginWithTheMostExpensiveTrials) {
  TeamPlan plan = MakePlan({1, 1});
  plan.costs = {1, 5, 2, 5, 3};
  std::atomic<int> begun = 0;  // of the two
  EXPECT_OK(Deal(plan, {10, 11, 12, 13, 14}, [&](Communicator&, int64_t trial) {
    if (trial == 11 || trial == 13) {
      ++begun;
      EXPECT_TRUE(Eventually([&] { return begun == 2; }));
    } else {
      EXPECT_EQ(begun, 2);
    }
    return absl::OkStatus();
  }));
}

TEST(AssignTrialsTest, AFailureOnOneRankOfATeamIsThatTrialsOnly) {
  for (const std::vector<int>& sizes : {std::vector<int>{1}, {2}, {2, 2}, {1, 2}}) {
    Journal journal;
    std::mutex mutex;
    std::map<int64_t, absl::Status> failures;
    const auto run = [&](Communicator& team, int64_t trial) -> absl::Status {
      journal.Ran(team, trial);
      if (trial % 4 != 0) return absl::OkStatus();
      return team.rank() == team.size() - 1 ? absl::DataLossError("a torn file") : absl::OkStatus();
    };
    EXPECT_OK(Deal(MakePlan(sizes), FirstTrials(9), run, [&](int64_t trial, const absl::Status& error) {
      const std::lock_guard<std::mutex> lock(mutex);
      EXPECT_TRUE(failures.emplace(trial, error).second);
      return absl::OkStatus();
    }));
    EXPECT_EQ(journal.started().size(), 9u);
    EXPECT_EQ(failures.size(), 3u);
    for (const int64_t trial : {0, 4, 8}) {
      EXPECT_THAT(failures[trial], StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a torn file")));
    }
  }
}

TEST(AssignTrialsTest, AnErrorThatAllRanksHaveAgreedOnIsReportedAsItIs) {
  const RunFunction run = [](Communicator& team, int64_t) { return AgreeOk(team, absl::DataLossError("a torn file")); };
  EXPECT_OK(Deal(MakePlan({2}), {0}, run, [](int64_t, const absl::Status& error) {
    EXPECT_EQ(error.message(), "rank 0: a torn file");
    return absl::OkStatus();
  }));
}

TEST(AssignTrialsTest, AFailureThatCannotBeRecordedEndsTheDealing) {
  const RunFunction run = [](Communicator&, int64_t) { return absl::DataLossError("a torn file"); };
  const FailFunction fail = [](int64_t, const absl::Status&) { return absl::ResourceExhaustedError("disk full"); };
  EXPECT_THAT(Deal(MakePlan({1, 2}), FirstTrials(9), run, fail),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("disk full")));
}

TEST(AssignTrialsTest, AfterUnavailableNoTeamTakesATrial) {
  for (const std::vector<int>& sizes : {std::vector<int>{1}, {2}, {1, 2}, {2, 1, 1}}) {
    Journal journal;
    std::atomic<bool> is_over = false;
    const absl::Status status = Deal(MakePlan(sizes), FirstTrials(100), [&](Communicator& team, int64_t trial) {
      journal.Ran(team, trial);
      if (trial == 1) {
        is_over = true;
        return team.rank() == 0 ? absl::UnavailableError("a signal") : absl::OkStatus();
      }
      if (trial > 1) {
        EXPECT_TRUE(Eventually([&] { return is_over.load(); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return absl::OkStatus();
    });
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a signal")));
    EXPECT_LT(journal.started().size(), 50u);
  }
}

TEST(AssignTrialsTest, AnExecutionThatIsReplacedStopsAndTheNewOneRunsWhatIsPending) {
  const TeamPlan plan = MakePlan({1, 1});
  for (const bool fails : {false, true}) {
    Journal first, second;
    std::atomic<bool> is_replaced = false;
    const auto replaced = [&](Communicator& team, int64_t trial) -> absl::Status {
      first.Ran(team, trial);
      if (trial != 3) {
        // The other team cannot run all of them before the new execution begins.
        if (trial > 3) {
          EXPECT_TRUE(Eventually([&] { return is_replaced.load(); }));
        }
        return absl::OkStatus();
      }
      EXPECT_OK(Deal(plan, {3, 4, 5, 6, 7}, [&](Communicator& other, int64_t repeated) {
        second.Ran(other, repeated);
        return absl::OkStatus();
      }));
      is_replaced = true;
      return fails ? absl::FailedPreconditionError("another process writes this run") : absl::OkStatus();
    };
    EXPECT_THAT(Deal(plan, FirstTrials(1000), replaced),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another execution of this sweep")));
    EXPECT_EQ(second.started().size(), 5u);
    EXPECT_LT(first.started().size(), 1000u);
  }
}

TEST(AssignTrialsTest, PartsAreDealtBesideEachOtherAndAllOfThemReplacesEachPart) {
  TeamPlan one = MakePlan({1, 1}), two = one;
  one.part = "task1of2";
  two.part = "task2of2";
  const TeamPlan all = MakePlan({1});
  const auto nothing = [](Communicator&, int64_t) { return absl::OkStatus(); };
  EXPECT_OK(Deal(one, FirstTrials(4), [&](Communicator&, int64_t trial) -> absl::Status {
    return trial == 0 ? Deal(two, {4, 5}, nothing) : absl::OkStatus();
  }));
  for (const auto& [outer, inner] : {std::pair(one, all), std::pair(all, two)}) {
    EXPECT_THAT(Deal(outer, FirstTrials(1000),
                     [&](Communicator&, int64_t trial) -> absl::Status {
                       return trial == 0 ? Deal(inner, {0}, nothing) : absl::OkStatus();
                     }),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another execution of this sweep")));
  }
}

TEST(AssignTrialsTest, ClaimsOfAKilledExecutionDoNotCount) {
  const TeamPlan plan = MakePlan({1, 1});
  std::filesystem::create_directories(plan.directory + "/all.0123abcd");
  std::ofstream(plan.directory + "/all.0123abcd/2") << "";
  Journal journal;
  EXPECT_OK(Deal(plan, FirstTrials(4), [&](Communicator& team, int64_t trial) {
    journal.Ran(team, trial);
    return absl::OkStatus();
  }));
  EXPECT_EQ(journal.started().size(), 4u);
}

// A directory of claims with a foreign file, a directory that is no claims', and links to others: nothing is deleted.
TEST(AssignTrialsTest, NothingIsDeletedThatIsNoClaimAndNoLinkIsFollowed) {
  namespace fs = std::filesystem;
  const TeamPlan plan = MakePlan({1});
  const fs::path root = fs::path(plan.directory).parent_path();
  fs::remove_all(root);
  const auto write = [](const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  const auto deal = [&] { return Deal(plan, FirstTrials(1), [](Communicator&, int64_t) { return absl::OkStatus(); }); };
  const auto is_refused = [](const std::string& name) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr(name), HasSubstr("move it away")));
  };
  const fs::path dealing = plan.directory, claims = dealing / "all.0123abcd";
  write(dealing / "all.notes/1", ""), write(dealing / "thesis", "text"), write(dealing / "mine/7", "");
  EXPECT_OK(deal());
  for (const char* const name : {"all.notes/1", "thesis", "mine/7"}) EXPECT_TRUE(fs::exists(dealing / name)) << name;

  for (const char* const name : {"thesis.txt", "3"}) {  // no claim is named so, and none has contents
    write(claims / "1", ""), write(claims / name, "text");
    EXPECT_THAT(deal(), is_refused((claims / name).string()));
    EXPECT_TRUE(fs::exists(claims / name) && fs::exists(claims / "1")) << name;
    fs::remove_all(claims);
  }
  write(root / "else/1", "");
  fs::create_directory_symlink(root / "else", claims);
  EXPECT_THAT(deal(), is_refused(claims.string() + " is a link"));
  fs::remove(claims), write(claims / "1", "");
  fs::create_symlink(root / "else/1", claims / "2");
  EXPECT_THAT(deal(), is_refused((claims / "2").string() + " is a link"));
  fs::remove_all(dealing);
  fs::create_directory_symlink(root / "else", dealing);
  EXPECT_THAT(deal(), is_refused(plan.directory + " is a link"));
  EXPECT_TRUE(fs::exists(root / "else/1"));
}

TEST(AssignTrialsTest, ATrialThatIsClaimedButNotRunIsReported) {
  const TeamPlan plan = MakePlan({1, 1});
  std::atomic<bool> is_claimed = false;
  const absl::Status status = Deal(plan, FirstTrials(4), [&](Communicator&, int64_t trial) {
    if (trial == 0) {
      for (const auto& mine : std::filesystem::directory_iterator(plan.directory)) {
        std::ofstream(mine.path() / "3") << "";
      }
      is_claimed = true;
    }
    EXPECT_TRUE(Eventually([&] { return is_claimed.load(); }));
    return absl::OkStatus();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("trials that were claimed but not run: 1")));
}

TEST(ReadTeamSizesTest, OneNumberIsForEveryTeamAndAListNamesEachTeam) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int> pairs, ReadTeamSizes("2", 6));
  EXPECT_THAT(pairs, AllOf(Each(2), ::testing::SizeIs(3)));
  ASSERT_OK_AND_ASSIGN(const std::vector<int> named, ReadTeamSizes("1,1,2", 4));
  EXPECT_THAT(named, ElementsAre(1, 1, 2));
}

TEST(ReadTeamSizesTest, SizesThatDoNotFitTheRanksAreRejectedWithTheReason) {
  const auto refused = [](const std::string& reason) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason));
  };
  EXPECT_THAT(ReadTeamSizes("8", 4), refused("a team of 8 ranks needs more than the 4 ranks of this program"));
  EXPECT_THAT(ReadTeamSizes("3", 4),
              refused("4 ranks cannot be divided into teams of 3: 1 would be left over; name every team, as in 3,1"));
  EXPECT_THAT(ReadTeamSizes("1,1,1", 2), refused("3 teams are more than the 2 ranks"));
  EXPECT_THAT(ReadTeamSizes("1,2", 4), refused("teams of 1, 2 have 3 ranks, but this program has 4"));
  for (const std::string text : {"", "0", "-1", "two", "1,", "1.5", "99999999999"}) {
    EXPECT_THAT(ReadTeamSizes(text, 4), refused("is not a number of ranks")) << text;
  }
}

TEST(TrialsOfTaskTest, EveryTrialHasOneTaskThatDoesNotDependOnTheOthers) {
  EXPECT_THAT(TrialsOfTask({0, 1, 2, 3, 4, 5, 6}, 1, 3), ElementsAre(1, 4));
  EXPECT_THAT(TrialsOfTask({0, 1}, 2, 3), ElementsAre());
  for (const int64_t tasks : {1, 2, 5, 20}) {
    std::vector<int64_t> all;
    for (int64_t task = 0; task < tasks; ++task) {
      for (const int64_t trial : TrialsOfTask(FirstTrials(13), task, tasks)) all.push_back(trial);
    }
    EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(FirstTrials(13)));
  }
}

}  // namespace
}  // namespace reprise
