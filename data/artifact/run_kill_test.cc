// A process is killed before every call that a run makes, and in the middle of every write: whatever it was told is
// durable is there for the next process, which ends with the same files. RUN_STEPS makes the runs longer.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "data/artifact/crash_trial.h"
#include "data/artifact/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

int64_t Number(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoll(text);
}

TEST(RunKillTest, NothingIsLostWhereverAProcessIsKilled) {
  int64_t kills = 0;
  for (const Scenario& scenario : AllScenarios(Number("RUN_STEPS"))) {
    const CrashTrial trial(scenario);
    const int64_t points = trial.VisitAll([&](const CrashTrial::Point& point) {
      if (::testing::Test::HasFailure()) return;
      EXPECT_TRUE(trial.EndsRight(point.Kill())) << point.ToString();
    });
    std::printf("%s: %lld kill points\n", scenario.name.c_str(), static_cast<long long>(points));
    kills += points;
  }
  EXPECT_GE(kills, Number("KILL_POINTS"));
}

}  // namespace
}  // namespace reprise::testing
