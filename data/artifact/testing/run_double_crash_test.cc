// The process that resumes a run after a crash crashes as well; or the machine crashes before the first process's files
// were durable.

#include <cstdio>

#include "data/artifact/testing/crash_trial.h"
#include "data/artifact/testing/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

// Visits every kFirstStride-th, or kSecondStride-th, point of each process, so that successive first points are paired
// with different second ones.
constexpr int64_t kFirstStride = 13, kSecondStride = 61;

using Change = void (*)(FakeFileSystem& files);
void NoChange(FakeFileSystem&) {}
void LosePower(FakeFileSystem& files) { files.LosePower(); }

// Returns the number of pairs.
int64_t CrashTwice(const CrashTrial& trial, Change first, Change second) {
  int64_t firsts = 0, pairs = 0;
  trial.VisitAll([&](const CrashTrial::Point& point) {
    if (++firsts % kFirstStride != 0 || ::testing::Test::HasFailure()) return;
    Wreck wreck = point.Kill();
    first(*wreck.files);
    int64_t seconds = firsts / kFirstStride;
    trial.VisitRecovery(std::move(wreck), [&](const CrashTrial::Point& later) {
      if (++seconds % kSecondStride != 0 || ::testing::Test::HasFailure()) return;
      Wreck second_wreck = later.Kill();
      second(*second_wreck.files);
      ++pairs;
      EXPECT_TRUE(trial.EndsRight(std::move(second_wreck))) << point.ToString() << "; then " << later.ToString();
    });
  });
  return pairs;
}

class RunDoubleCrashTest : public ::testing::Test {
 protected:
  static void ExpectNothingIsLost(Change first, Change second) {
    int64_t pairs = 0;
    for (const Scenario& scenario : AllScenarios(/*steps=*/3)) {
      pairs += CrashTwice(CrashTrial(scenario), first, second);
    }
    std::printf("%lld pairs\n", static_cast<long long>(pairs));
    EXPECT_GE(pairs, 200);
  }
};

TEST_F(RunDoubleCrashTest, NothingIsLostWhenTheNextProcessIsKilledToo) { ExpectNothingIsLost(NoChange, NoChange); }

TEST_F(RunDoubleCrashTest, NothingIsLostWhenPowerFailsDuringTheNextProcess) {
  ExpectNothingIsLost(NoChange, LosePower);
}

TEST_F(RunDoubleCrashTest, NothingIsLostWhenPowerFailsTwice) { ExpectNothingIsLost(LosePower, LosePower); }

}  // namespace
}  // namespace reprise::testing
