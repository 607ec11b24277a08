// Promise: a run that was killed before, or in the middle of, any of its file calls and is resumed ends with the bytes
// of the run that was never interrupted.

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/kill_points.h"
#include "tests/faults/resuming.h"

namespace reprise::testing {
namespace {

// Every workload writes through the same journal: each of the first four is killed at every fourth point, each from
// another one on; networks that grow, whose processes need time to start, at a few. With REPRISE_ALL_KILL_POINTS
// (all_kill_points_test, slow) every workload is killed at all points; every_kill_test (slow) kills at every call.
std::vector<KillPoint> Points(const std::vector<LoggedCall>& log, const TestedWorkload& workload, size_t stride) {
  const std::vector<KillPoint> all = KillPoints(log, RepresentativeCalls(log));
  if (std::getenv("REPRISE_ALL_KILL_POINTS") != nullptr) return all;
  size_t place = 0;
  while (Workloads()[place].name != workload.name) ++place;
  if (workload.name == "morphogenesis") stride *= 5;
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
  const std::vector<KillPoint> points = Points(undisturbed().calls, GetParam(), 4);
  EXPECT_GT(points.size(), 5u);
  std::printf("%zu kill points\n", points.size());
  for (const KillPoint& point : points) ExpectSurvives(KillAt(point.call, point.torn), options(), undisturbed());
}

// The runs below are killed first at the write of run.h5, when all steps are done and the run is not finished.
constexpr char kLastWrite[] = "write run.h5";

Injection KillBeforeTheEnd() { return {.fault = "signal", .call = 0, .signal = SIGKILL, .match = kLastWrite}; }

TEST_P(KillTest, OfAResumedRun) {
  const SmallRun killed = TrainSmallRun(KillBeforeTheEnd(), options());
  const SmallRun recovery = Resume(CopyDirectory(killed.directory), options());
  const std::vector<KillPoint> points = Points(recovery.calls, GetParam(), 8);
  EXPECT_GT(points.size(), 1u);
  std::printf("%zu kill points\n", points.size());
  for (const KillPoint& point : points) {
    const SmallRun again = Resume(CopyDirectory(killed.directory), options(), KillAt(point.call, point.torn));
    SCOPED_TRACE("recovery killed at call " + std::to_string(point.call) + (point.torn ? ", torn: " : ": ") +
                 recovery.calls.at(static_cast<size_t>(point.call)).text());
    EXPECT_EQ(again.process.exit_code, 128 + SIGKILL) << again.process.err;
    ExpectEndsAs(Resume(again.directory, options()), undisturbed());
    std::filesystem::remove_all(again.directory);
  }
}

FOR_EACH_WORKLOAD(KillTest);

// The numbers of steps that its SFT phase did not take are missing from the run.
TEST(KilledRunTest, OfARunWhoseSftConverged) {
  const SmallRunOptions options = {
      .flags = {"--set", "sft.steps=40", "--set", "sft.learning_rate=0.05", "--set",
                "quiet_star.baking_convergence=0.01", "--set", "quiet_star.baking_window=2"},
      .config = "tests/workloads/quick_quiet_star.toml"};
  const SmallRun undisturbed = TrainSmallRun({}, options);
  EXPECT_THAT(Contents(undisturbed.directory + "/metrics.jsonl"), ::testing::HasSubstr("sft/steps_not_taken"));
  const std::vector<KillPoint> points = KillPoints(undisturbed.calls, RepresentativeCalls(undisturbed.calls));
  for (size_t i = 0; i < points.size(); i += 24) {
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
