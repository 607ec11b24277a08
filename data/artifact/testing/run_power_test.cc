// Power fails at every point of a run, and leaves what a disk may leave of the writes and names that were not synced.
// POWER_SEEDS such states are drawn at each point, besides the strictest one; equal states are checked once.

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "data/artifact/testing/crash_trial.h"
#include "data/artifact/testing/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

int64_t Number(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atoll(text);
}

struct Count {
  int64_t states = 0, judged = 0;  // states, and the different ones among those of a scenario
};

// Checks the states that a power failure at this point can leave.
void LosePowerAt(const CrashTrial& trial, const CrashTrial::Point& point, int64_t seeds, Count& count) {
  for (int64_t seed = -1; seed < seeds; ++seed) {
    Wreck wreck = point.Kill();
    if (seed < 0) {
      wreck.files->LosePower();
    } else {
      wreck.files->LosePower(static_cast<uint64_t>(1000 * count.states + seed));
    }
    ++count.states;
    EXPECT_TRUE(trial.EndsRight(std::move(wreck))) << point.ToString() << ", seed " << seed;
  }
}

TEST(RunPowerTest, NothingIsLostWhateverAPowerFailureLeaves) {
  Count count;
  for (const Scenario& scenario : AllScenarios(Number("RUN_STEPS"))) {
    const CrashTrial trial(scenario);
    trial.VisitAll([&](const CrashTrial::Point& point) {
      if (!::testing::Test::HasFailure()) LosePowerAt(trial, point, Number("POWER_SEEDS"), count);
    });
    count.judged += trial.judged();
  }
  std::printf("%lld states, %lld of them judged\n", static_cast<long long>(count.states),
              static_cast<long long>(count.judged));
  EXPECT_GE(count.states, Number("POWER_STATES"));
}

}  // namespace
}  // namespace reprise::testing
