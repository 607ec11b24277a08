#include "rl/record/recorded.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<int64_t> Kept(int64_t steps, int64_t every, int64_t keep, int64_t newest) {
  Config config;
  config.run.steps = steps;
  config.artifact.checkpoint_every = every;
  config.artifact.keep_checkpoints = keep;
  return KeptCheckpoints(config, newest);
}

TEST(RecordedTest, AllCheckpointsAreKeptByDefault) { EXPECT_THAT(Kept(10, 3, 0, 10), ElementsAre(3, 6, 9, 10)); }

TEST(RecordedTest, ARunWithoutACheckpointKeepsNone) { EXPECT_THAT(Kept(10, 3, 2, 0), IsEmpty()); }

TEST(RecordedTest, TheNewestAreKeptIncludingTheLastStep) {
  EXPECT_THAT(Kept(10, 3, 1, 10), ElementsAre(10));
  EXPECT_THAT(Kept(10, 3, 2, 10), ElementsAre(9, 10));
  EXPECT_THAT(Kept(10, 3, 3, 10), ElementsAre(6, 9, 10));
  EXPECT_THAT(Kept(10, 3, 4, 10), ElementsAre(3, 6, 9, 10));
  EXPECT_THAT(Kept(10, 3, 9, 10), ElementsAre(3, 6, 9, 10));
}

// The last step of a whole run may have a periodic checkpoint too: it is counted once.
TEST(RecordedTest, TheLastStepIsCountedOnce) { EXPECT_THAT(Kept(9, 3, 2, 9), ElementsAre(6, 9)); }

// A run that ends early has a checkpoint at its end, at whatever step that is.
TEST(RecordedTest, ARunThatEndsEarlyKeepsTheNewestBeforeItsEnd) {
  EXPECT_THAT(Kept(100, 3, 2, 8), ElementsAre(6, 8));
  EXPECT_THAT(Kept(100, 3, 3, 9), ElementsAre(3, 6, 9));
}

}  // namespace
}  // namespace reprise::rl
