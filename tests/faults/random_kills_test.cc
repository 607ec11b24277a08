// Promise: a run that is killed several times at random moments, and resumed each time on another number of ranks, ends
// with the bytes of the run that was never interrupted.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

// How often a run is killed, and its steps: once on each number of ranks, or REPRISE_KILLS times. Networks that grow
// need more time for a step and to start.
struct Plan {
  int kills = 0, steps = 0;
};

Plan MakePlan(const TestedWorkload& workload) {
  const char* const asked = std::getenv("REPRISE_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 4;
  return {kills, kills * (workload.name == "morphogenesis" ? 20 : 80)};
}

SmallRunOptions LongRun(const TestedWorkload& workload, int ranks, int steps) {
  return {
      .flags = {"--set", "run.steps=" + std::to_string(steps), "--set", "artifact.checkpoint_every=50", "--set",
                "artifact.digest_every=50", "--set", "execution.commit_every=3", "--set", "execution.save_every=20"},
      .ranks = ranks,
      .config = workload.quick};
}

uint64_t Random(int kill, uint64_t purpose, uint64_t bound) {
  return DrawBelow(1, Purpose::kTest, {.step = static_cast<uint64_t>(kill), .token = purpose}, bound);
}

struct TimedRun {
  SmallRun run;
  int64_t ms = 0;
};

TimedRun TrainUndisturbed(const SmallRunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  SmallRun run = TrainSmallRun({}, options);
  EXPECT_EQ(run.process.exit_code, 0) << run.process.err;
  const auto taken = std::chrono::steady_clock::now() - begin;
  return {std::move(run), std::chrono::duration_cast<std::chrono::milliseconds>(taken).count()};
}

// Returns a moment between half of a process's start time and, after it, two thirds of the duration of the run divided
// by the number of kills, both as measured on this machine: the run must not end before its last kill.
int ChooseKillTime(int kill, int kills, int64_t start_ms, int64_t run_ms) {
  const int64_t earliest = start_ms / 2, latest = start_ms + run_ms * 2 / (3 * kills);
  return static_cast<int>(earliest +
                          static_cast<int64_t>(Random(kill, 1, static_cast<uint64_t>(latest - earliest + 1))));
}

class RandomKillsTest : public ::testing::TestWithParam<TestedWorkload> {};

TEST_P(RandomKillsTest, OnOneToFourRanks) {
  const Plan plan = MakePlan(GetParam());
  const auto long_run = [&](int ranks) { return LongRun(GetParam(), ranks, plan.steps); };
  const TimedRun undisturbed = TrainUndisturbed(long_run(1));
  // The start time of one process, and of one of several; mpirun takes about half of the latter before it starts them.
  const int64_t start_alone = TrainUndisturbed(LongRun(GetParam(), 1, 1)).ms;
  const int64_t start_together = (start_alone + TrainUndisturbed(LongRun(GetParam(), 4, 1)).ms) / 2;
  std::string directory;
  int kills = 0;
  for (int kill = 0; kill < plan.kills; ++kill) {
    const int ranks = 1 + kill % 4;
    Injection injection = {.signal = SIGKILL};
    // mpirun itself is not killed, so that it ends the other ranks.
    if (ranks > 1) injection.rank = static_cast<int>(Random(kill, 0, static_cast<uint64_t>(ranks)));
    injection.signal_after_ms =
        ChooseKillTime(kill, plan.kills, ranks > 1 ? start_together : start_alone, undisturbed.ms);
    const SmallRun run =
        directory.empty() ? TrainSmallRun(injection, long_run(ranks)) : Resume(directory, long_run(ranks), injection);
    directory = run.directory;
    if (run.process.exit_code == 0) break;
    EXPECT_EQ(run.process.exit_code, 128 + SIGKILL) << run.process.err;
    ++kills;
  }
  EXPECT_EQ(kills, plan.kills) << "the run ended before the last kill";
  const std::string metrics = directory + "/metrics.jsonl";
  const std::string so_far = std::filesystem::exists(metrics) ? Contents(metrics) : "";
  std::printf("%d kills, after which metrics.jsonl had %d of %d steps\n", kills,
              static_cast<int>(std::count(so_far.begin(), so_far.end(), '\n')), plan.steps);
  EXPECT_FALSE(so_far.empty()) << "every process was killed before its first step";
  ExpectEndsAs(Resume(directory, long_run(2)), undisturbed.run);
}

FOR_EACH_WORKLOAD(RandomKillsTest);

}  // namespace
}  // namespace reprise::testing
