// Promise: a run that was killed before, or in the middle of, any of its file calls and is resumed ends with the bytes
// of the run that was never interrupted.

#include <cstdio>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/kill_points.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

// Every workload writes through the same journal: completions are killed at all points, the others at every third,
// networks that grow, whose processes need time to start, at every sixth, each from another one on. every_kill_test
// (slow) kills at every call.
std::vector<KillPoint> Points(const std::vector<LoggedCall>& log, const TestedWorkload& workload) {
  const std::vector<KillPoint> all = KillPoints(log, RepresentativeCalls(log));
  size_t place = 0;
  while (Workloads()[place].name != workload.name) ++place;
  if (place == 0) return all;
  const size_t stride = workload.name == "morphogenesis" ? 6 : 3;
  std::vector<KillPoint> some;
  for (size_t i = place % stride; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

class KillTest : public ::testing::TestWithParam<TestedWorkload> {
 protected:
  const SmallRun& undisturbed() const { return UndisturbedRun(GetParam()); }
  SmallRunOptions options() const { return {.config = GetParam().quick}; }
};

TEST_P(KillTest, BeforeAndWithinEachKindOfCall) {
  const std::vector<KillPoint> points = Points(undisturbed().calls, GetParam());
  EXPECT_GT(points.size(), 20u);
  std::printf("%zu kill points\n", points.size());
  for (const KillPoint& point : points) ExpectSurvives(KillAt(point.call, point.torn), options(), undisturbed());
}

// The runs below are killed first at the write of run.h5, when all steps are done and the run is not finished.
constexpr char kLastWrite[] = "write run.h5";

Injection KillBeforeTheEnd() { return {.fault = "signal", .call = 0, .signal = SIGKILL, .match = kLastWrite}; }

TEST_P(KillTest, OfAResumedRun) {
  const SmallRun first = TrainSmallRun(KillBeforeTheEnd(), options());
  const SmallRun recovery = Resume(first.directory, options());
  const std::vector<KillPoint> points = Points(recovery.calls, GetParam());
  EXPECT_GT(points.size(), 8u);
  for (size_t i = 0; i < points.size(); i += 2) {
    const KillPoint& point = points[i];
    const SmallRun killed = TrainSmallRun(KillBeforeTheEnd(), options());
    const SmallRun again = Resume(killed.directory, options(), KillAt(point.call, point.torn));
    SCOPED_TRACE("recovery killed at call " + std::to_string(point.call) + (point.torn ? ", torn: " : ": ") +
                 recovery.calls.at(static_cast<size_t>(point.call)).text());
    EXPECT_EQ(again.process.exit_code, 128 + SIGKILL) << again.process.err;
    ExpectEndsAs(Resume(killed.directory, options()), undisturbed());
    std::filesystem::remove_all(killed.directory);
  }
}

FOR_EACH_WORKLOAD(KillTest);

// The numbers of steps that its warm-up did not take are missing from the run.
TEST(KilledRunTest, OfARunWhoseWarmUpConverged) {
  const SmallRunOptions options = {
      .flags = {"--set", "warm_up.steps=40", "--set", "warm_up.learning_rate=0.05", "--set",
                "quiet_star.baking_convergence=0.01", "--set", "quiet_star.baking_window=2"},
      .config = "tests/workloads/quick_quiet_star.toml"};
  const SmallRun undisturbed = TrainSmallRun({}, options);
  EXPECT_THAT(Contents(undisturbed.directory + "/metrics.jsonl"), ::testing::HasSubstr("warm_up/steps_not_taken"));
  const std::vector<KillPoint> points = KillPoints(undisturbed.calls, RepresentativeCalls(undisturbed.calls));
  for (size_t i = 0; i < points.size(); i += 12) {
    ExpectSurvives(KillAt(points[i].call, points[i].torn), options, undisturbed);
  }
  // Before a segment is named in the journal; one of them begins behind the missing numbers.
  for (size_t i = 0; i < undisturbed.calls.size(); ++i) {
    if (undisturbed.calls[i].text().find("write journal.E0001") == std::string::npos) continue;
    ExpectSurvives(KillAt(static_cast<int64_t>(i), false), options, undisturbed);
  }
}

// The program's output must not be written into its journal, whichever standard descriptors are closed at its start.
TEST(KilledRunTest, OfARunWithoutStandardDescriptors) {
  for (const char* closed : {"2>&-", ">&-", "<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    SmallRunOptions options = {.flags = {"--set", "execution.log_every=1", "--json"}, .redirections = closed};
    const SmallRun killed = TrainSmallRun(KillBeforeTheEnd(), options);
    EXPECT_EQ(killed.process.exit_code, 128 + SIGKILL) << killed.process.err;
    ExpectEndsAs(Resume(killed.directory), UndisturbedRun());
    std::filesystem::remove_all(killed.directory);
  }
}

}  // namespace
}  // namespace reprise::testing
