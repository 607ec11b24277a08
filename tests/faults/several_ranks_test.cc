// Promise: when a file call fails on one of several ranks, all ranks end, with one error message and the error's exit
// code; when a rank is killed, no other rank hangs.

#include <cerrno>
#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3, kExitIo = 74;

// A call in the middle of the run; collectives follow it.
const std::string kCall = "write metrics.jsonl";

SmallRun TrainOnRanks(Injection injection) { return TrainSmallRun(std::move(injection), {.ranks = kRanks}); }

class RanksTest : public ::testing::TestWithParam<TestedWorkload> {};

TEST_P(RanksTest, MakeTheCallsAndWriteTheBytesOfASingleRank) {
  const SmallRun run = TrainSmallRun({.rank = 0}, {.ranks = kRanks, .config = GetParam().quick});
  EXPECT_EQ(run.process.exit_code, 0) << run.process.err;
  EXPECT_EQ(run.calls.size(), UndisturbedRun(GetParam()).calls.size());
  EXPECT_TRUE(run.run_bytes() == UndisturbedRun(GetParam()).run_bytes());
}

FOR_EACH_WORKLOAD(RanksTest);

TEST(SeveralRanksTest, AllEndWithTheErrorOfOne) {
  const SmallRun run =
      TrainOnRanks({.fault = "error_from", .call = 1, .error_number = ENOSPC, .match = kCall, .rank = 0});
  EXPECT_EQ(run.process.exit_code, kExitIo);
  EXPECT_THAT(run.process.err, HasSubstr("metrics.jsonl: No space left on device"));
  const size_t first = run.process.err.find("error:");
  EXPECT_EQ(run.process.err.find("error:", first + 1), std::string::npos) << run.process.err;
}

TEST(SeveralRanksTest, AllEndWhenTheWritingRankIsKilled) {
  const SmallRun run = TrainOnRanks({.fault = "signal", .call = 1, .signal = SIGKILL, .match = kCall, .rank = 0});
  EXPECT_EQ(run.process.exit_code, 128 + SIGKILL);
  EXPECT_EQ(run.run_bytes(), "");
}

TEST(SeveralRanksTest, AllEndWhenARankThatWritesNothingIsKilled) {
  const SmallRun run = TrainOnRanks({.signal = SIGKILL, .rank = 1, .signal_after_ms = 700});
  EXPECT_TRUE(run.process.exit_code == 128 + SIGKILL || run.process.exit_code == 0) << run.process.exit_code;
  const std::string bytes = run.run_bytes();
  EXPECT_TRUE(bytes.empty() || bytes == UndisturbedRun().run_bytes());
}

}  // namespace
}  // namespace reprise::testing
