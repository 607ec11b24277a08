// A process is killed before every call that a run makes, and in the middle of every write: whatever it was told is
// durable is there for the next process, which ends with the same files.

#include <cstdio>

#include "data/artifact/crash_trial.h"
#include "data/artifact/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

TEST(RunKillTest, NothingIsLostWhereverAProcessIsKilled) {
  size_t kills = 0;
  for (const Scenario& scenario : AllScenarios(/*steps=*/6)) {
    const CrashTrial trial(scenario);
    for (const Crash& crash : trial.Kills()) {
      CrashTrial::Wreck wreck = trial.Stop(crash);
      wreck.files->Restart();
      ASSERT_TRUE(trial.EndsRight(wreck)) << crash.ToString() << ", " << trial.calls()[static_cast<size_t>(crash.call)];
    }
    std::printf("%s: %zu kill points\n", scenario.name.c_str(), trial.Kills().size());
    kills += trial.Kills().size();
  }
  EXPECT_GE(kills, 1000u);
}

}  // namespace
}  // namespace reprise::testing
