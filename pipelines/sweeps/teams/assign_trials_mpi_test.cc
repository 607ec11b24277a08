// Teams of MPI processes, which claim trials from each other.

#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/comm/testing/mpi_test_world.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/teams/assign_trials.h"

namespace reprise {
namespace {

using ::reprise::testing::MpiTestWorld;
using ::reprise::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kTrials = 40;

std::vector<int64_t> AllTrials() {
  std::vector<int64_t> trials(kTrials);
  std::iota(trials.begin(), trials.end(), int64_t{0});
  return trials;
}

// Teams of one rank, of all, of two where that is possible, and of one and the rest.
std::vector<std::vector<int>> SizesFor(int ranks) {
  std::vector<std::vector<int>> sizes = {std::vector<int>(static_cast<size_t>(ranks), 1), {ranks}};
  if (ranks % 2 == 0) sizes.emplace_back(static_cast<size_t>(ranks / 2), 2);
  if (ranks > 2) sizes.push_back({1, ranks - 1});
  return sizes;
}

TEST(AssignTrialsMpiTest, EveryTrialIsRunOnceThoughSomeFailOnOneRankOfATeam) {
  Communicator& world = MpiTestWorld();
  for (const std::vector<int>& sizes : SizesFor(world.size())) {
    const TeamPlan plan = {.sizes = sizes, .directory = ::testing::TempDir() + "/once"};
    std::vector<int64_t> ranks(kTrials), expected(kTrials);
    int64_t failures = 0;
    const auto run = [&](Communicator& team, int64_t trial) {
      const size_t i = static_cast<size_t>(trial);
      ++ranks[i];
      expected[i] = team.rank() == 0 ? team.size() : 0;
      const bool fails = trial % 3 == 0 && team.rank() == team.size() - 1;
      return AgreeOk(team, fails ? absl::DataLossError("a torn file") : absl::OkStatus());
    };
    EXPECT_OK(AssignTrials(world, plan, AllTrials(), run, [&](int64_t, const absl::Status&) {
      ++failures;
      return absl::OkStatus();
    }));
    EXPECT_OK(AllreduceSum(world, absl::MakeSpan(&failures, 1)));
    EXPECT_EQ(failures, 14);
    EXPECT_OK(AllreduceSum(world, absl::MakeSpan(ranks)));
    EXPECT_OK(AllreduceSum(world, absl::MakeSpan(expected)));
    EXPECT_THAT(ranks, Each(::testing::Gt(0)));
    EXPECT_EQ(ranks, expected);
  }
}

TEST(AssignTrialsMpiTest, AfterUnavailableEveryRankReturnsItAndTheNextExecutionRunsEveryTrial) {
  Communicator& world = MpiTestWorld();
  for (const std::vector<int>& sizes : SizesFor(world.size())) {
    const TeamPlan plan = {.sizes = sizes, .directory = ::testing::TempDir() + "/stopped"};
    const auto stop = [](Communicator& team, int64_t trial) {
      const bool stops = trial == 2 && team.rank() == team.size() - 1;
      return stops ? absl::UnavailableError("a signal") : absl::OkStatus();
    };
    const auto no_failure = [](int64_t, const absl::Status& error) { return error; };
    EXPECT_THAT(AssignTrials(world, plan, AllTrials(), stop, no_failure),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a signal")));
    int64_t ran = 0;
    const auto count = [&](Communicator& team, int64_t) {
      ran += team.rank() == 0 ? 1 : 0;
      return absl::OkStatus();
    };
    EXPECT_OK(AssignTrials(world, plan, AllTrials(), count, no_failure));
    EXPECT_OK(AllreduceSum(world, absl::MakeSpan(&ran, 1)));
    EXPECT_EQ(ran, kTrials);
  }
}

}  // namespace
}  // namespace reprise
