// Kills a run, which saves its state after every step, at every call that changes the disk, and resumes it.

#include <cstdio>
#include <numeric>

#include "gtest/gtest.h"
#include "tests/faults/kill_points.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

TEST(EveryKillTest, BeforeAndWithinEveryCall) {
  const SmallRunOptions options = {.flags = {"--set", "execution.save_every=1", "--set", "execution.commit_every=1"}};
  const SmallRun undisturbed = TrainSmallRun({}, options);
  std::vector<int64_t> calls(undisturbed.calls.size());
  std::iota(calls.begin(), calls.end(), int64_t{0});
  const std::vector<KillPoint> points = KillPoints(undisturbed.calls, calls);
  EXPECT_GT(points.size(), 400u);
  std::printf("%zu kill points\n", points.size());
  for (const KillPoint& point : points) ExpectSurvives(KillAt(point.call, point.torn), options, undisturbed);
}

}  // namespace
}  // namespace reprise::testing
