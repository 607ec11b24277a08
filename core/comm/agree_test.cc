#include "core/comm/agree.h"

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/random/draw.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;

// A step that fails on random ranks at random steps.
absl::Status LocalStep(uint64_t seed, int step, int rank) {
  const DrawAt at = {.step = static_cast<uint64_t>(step), .sample = static_cast<uint64_t>(rank)};
  if (DrawBelow(seed, Purpose::kTest, at, 20) != 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("step ", step, " tore on ", rank));
}

RC_GTEST_PROP(AgreeOkTest, AllRanksStopTogetherWithTheSameStatusAndNoneHangs, ()) {
  const int ranks = *rc::gen::inRange(2, 9);
  const uint64_t seed = *rc::gen::arbitrary<uint32_t>();
  std::mutex mutex;
  std::multiset<std::string> outcomes;
  const absl::Status first = RunAsRanks(ranks, [&](Communicator& comm) {
    const auto run = [&]() -> absl::Status {
      for (int step = 0; step < 30; ++step) {
        RETURN_IF_ERROR(AgreeOk(comm, LocalStep(seed, step, comm.rank())));
        RETURN_IF_ERROR(comm.Barrier());  // Unavailable if a rank did not call it
      }
      return absl::OkStatus();
    };
    const absl::Status status = run();
    std::lock_guard<std::mutex> lock(mutex);
    outcomes.insert(status.ToString());
    return status;
  });
  absl::Status expected;
  for (int step = 29; step >= 0; --step) {
    for (int rank = ranks - 1; rank >= 0; --rank) {
      const absl::Status local = LocalStep(seed, step, rank);
      if (!local.ok()) expected = absl::DataLossError(absl::StrCat("rank ", rank, ": ", local.message()));
    }
  }
  RC_ASSERT(first == expected);
  RC_ASSERT(outcomes.count(expected.ToString()) == static_cast<size_t>(ranks));
}

TEST(AgreeOkTest, NotifiesWorkingRanksAndNamesTheCause) {
  const absl::Status status = RunAsRanks(3, [](Communicator& comm) -> absl::Status {
    for (int round = 0; round < 3; ++round) {
      absl::Status mine = absl::DataLossError("torn");
      if (comm.rank() != 2) {
        while (!comm.PeerHasFailed()) std::this_thread::yield();
        mine = absl::CancelledError("cancelled");
      }
      EXPECT_THAT(AgreeOk(comm, mine), StatusIs(absl::StatusCode::kDataLoss, "rank 2: torn"));
      RETURN_IF_ERROR(comm.Barrier());
      EXPECT_FALSE(comm.PeerHasFailed());
      RETURN_IF_ERROR(comm.Barrier());
    }
    return AgreeOk(comm, absl::CancelledError("all"));
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled, "rank 0: all"));
}

TEST(AgreeOkTest, ReturnsItsOwnFailureWhenThePeersAreLost) {
  const absl::Status status = RunAsRanks(3, [](Communicator& comm) -> absl::Status {
    if (comm.rank() == 2) return absl::UnavailableError("killed");
    const absl::Status mine = comm.rank() == 0 ? absl::DataLossError("torn") : absl::OkStatus();
    const absl::Status agreed = AgreeOk(comm, mine);
    EXPECT_EQ(agreed.code(), comm.rank() == 0 ? absl::StatusCode::kDataLoss : absl::StatusCode::kUnavailable);
    return agreed;
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "torn"));
}

}  // namespace
}  // namespace reprise
