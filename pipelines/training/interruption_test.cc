#include "pipelines/training/interruption.h"

#include "core/comm/agree.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/conditions.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(InterruptionTest, IsKnownByItsMarkAndNotByItsCodeOrText) {
  const absl::Status interrupted = InterruptedError("a signal stopped the run");
  EXPECT_TRUE(IsInterrupted(interrupted));
  EXPECT_EQ(ExitCodeOf(interrupted), kExitRetry);
  EXPECT_FALSE(IsInterrupted(absl::UnavailableError("a signal stopped the run")));
  EXPECT_FALSE(IsInterrupted(absl::OkStatus()));
}

TEST(InterruptionTest, EveryRankKnowsThatOneWasInterrupted) {
  const absl::Status agreed = RunAsRanks(3, [](Communicator& comm) {
    const absl::Status mine = comm.rank() == 1 ? InterruptedError("a signal") : absl::OkStatus();
    const absl::Status all = WithContext(AgreeOk(comm, mine), "run");
    EXPECT_TRUE(IsInterrupted(all)) << comm.rank();
    EXPECT_EQ(all.message(), "run: rank 1: a signal");
    return absl::OkStatus();
  });
  EXPECT_TRUE(agreed.ok()) << agreed;
}

}  // namespace
}  // namespace reprise
