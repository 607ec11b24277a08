#include "core/comm/testing/thread_communicator.h"

#include <atomic>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/testing/conformance.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::ConformanceCase;
using ::reprise::testing::ConformanceCases;
using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

class ThreadConformanceTest : public ::testing::TestWithParam<std::tuple<int, ConformanceCase>> {};

TEST_P(ThreadConformanceTest, Holds) {
  const auto& [ranks, conformance_case] = GetParam();
  EXPECT_OK(RunAsRanks(ranks, [run = conformance_case.run](Communicator& comm) {
    run(comm);
    return absl::OkStatus();
  }));
}

INSTANTIATE_TEST_SUITE_P(All, ThreadConformanceTest,
                         ::testing::Combine(::testing::Range(1, 9), ::testing::ValuesIn(ConformanceCases())),
                         [](const auto& test) {
                           return absl::StrCat(std::get<1>(test.param).name, "On", std::get<0>(test.param), "Ranks");
                         });

TEST(RunAsRanksTest, NoRankPassesABarrierBeforeTheLastHasCalledIt) {
  for (int ranks : {2, 5, 8}) {
    std::atomic<int> come = 0;
    EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
      for (int round = 1; round <= 100; ++round) {
        ++come;
        RETURN_IF_ERROR(comm.Barrier());
        EXPECT_EQ(come.load(), round * ranks);
        RETURN_IF_ERROR(comm.Barrier());
      }
      return absl::OkStatus();
    }));
  }
}

TEST(RunAsRanksTest, RankThatFailsEarlyDoesNotHangTheOthers) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (int failing = 0; failing < ranks; ++failing) {
      std::atomic<int> unavailable = 0;
      const absl::Status status = RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
        RETURN_IF_ERROR(comm.Barrier());
        if (comm.rank() == failing) return absl::DataLossError("torn");
        const absl::Status lost = comm.Barrier();
        unavailable += absl::IsUnavailable(lost);
        EXPECT_THAT(lost, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(absl::StrCat("rank ", failing))));
        EXPECT_TRUE(absl::IsUnavailable(comm.Barrier()));  // and every later call fails too
        return lost;
      });
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "torn"));  // the cause, not its consequences
      EXPECT_EQ(unavailable.load(), ranks - 1);
    }
  }
}

TEST(RunAsRanksTest, RankThatReturnsOkWhileOthersNeedItIsNamed) {
  const absl::Status status = RunAsRanks(3, [](Communicator& comm) -> absl::Status {
    if (comm.rank() == 1) return absl::OkStatus();
    return comm.Barrier();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "rank 1 has left"));
}

TEST(RunAsRanksTest, ARankThatLeavesItsTeamIsLostToThatTeamOnly) {
  const absl::Status status = RunAsRanks(4, [](Communicator& comm) -> absl::Status {
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> team, comm.Split(comm.rank() / 2));
      const absl::Status met = comm.rank() == 3 ? absl::OkStatus() : team->Barrier();
      EXPECT_EQ(met.code(), comm.rank() == 2 ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk) << met;
    }
    return comm.Barrier();
  });
  EXPECT_OK(status);
}

TEST(RunAsRanksTest, EveryRankReportsCallsThatDoNotMatch) {
  std::atomic<int> reported = 0;
  const absl::Status status = RunAsRanks(4, [&](Communicator& comm) -> absl::Status {
    int64_t value = 0;
    const absl::Status result =
        comm.rank() == 2 ? comm.Barrier() : comm.Broadcast(0, AsWritableBytes(absl::MakeSpan(&value, 1)));
    reported += absl::IsInternal(result);
    return result;
  });
  EXPECT_EQ(reported.load(), 4);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 2 called Barrier")));
}

TEST(RunAsRanksTest, EveryRankReportsCountsThatDoNotMatch) {
  const absl::Status status = RunAsRanks(3, [&](Communicator& comm) -> absl::Status {
    std::vector<std::byte> bytes(comm.rank() == 1 ? 5 : 4);
    return comm.Broadcast(0, absl::MakeSpan(bytes));
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, "rank 0 sends 4 bytes, rank 1 expects 5"));
}

}  // namespace
}  // namespace reprise
