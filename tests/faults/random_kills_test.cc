// Promise: a run that is killed at random moments, twenty times, and goes on each time on another number of ranks ends
// in the bytes of the run that was never interrupted.

#include <csignal>
#include <cstdio>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

constexpr int kKills = 20;
constexpr int64_t kEarliestMs = 300, kLatestMs = 1000;

SmallRunOptions LongRun(int ranks) {
  return {
      .flags = {"--set", "run.steps=1000", "--set", "artifact.checkpoint_every=100", "--set",
                "artifact.digest_every=50", "--set", "execution.commit_every=3", "--set", "execution.save_every=20"},
      .ranks = ranks};
}

uint64_t Random(int kill, uint64_t purpose, uint64_t bound) {
  return DrawBelow(1, Purpose::kTest, {.step = static_cast<uint64_t>(kill), .token = purpose}, bound);
}

TEST(RandomKillsTest, OnOneToFourRanks) {
  const SmallRun undisturbed = TrainSmallRun({}, LongRun(1));
  ASSERT_EQ(undisturbed.process.exit_code, 0) << undisturbed.process.err;
  std::string directory;
  int kills = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const int ranks = 1 + kill % 4;
    Injection injection = {.signal = SIGKILL};
    // mpirun itself stays, to take the others down.
    if (ranks > 1) injection.rank = static_cast<int>(Random(kill, 0, static_cast<uint64_t>(ranks)));
    injection.signal_after_ms =
        kEarliestMs + static_cast<int64_t>(Random(kill, 1, static_cast<uint64_t>(kLatestMs - kEarliestMs)));
    const SmallRun run =
        directory.empty() ? TrainSmallRun(injection, LongRun(ranks)) : Resume(directory, LongRun(ranks), injection);
    directory = run.directory;
    if (run.process.exit_code == 0) break;
    EXPECT_EQ(run.process.exit_code, 128 + SIGKILL) << run.process.err;
    ++kills;
  }
  std::printf("%d kills before the end\n", kills);
  EXPECT_EQ(kills, kKills) << "the run ended before";
  ExpectEndsAs(Resume(directory, LongRun(2)), undisturbed);
}

}  // namespace
}  // namespace reprise::testing
