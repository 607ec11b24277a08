// Promise: run.h5 has the same bytes for any number of ranks and threads, any micro-batches, any decoding batches and
// any instruction set.

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

// Each axis alone: what a failure of another trial should be compared with.
std::vector<Trial> TrialsOfOneAxis() {
  const std::vector<int> levels = TrialLevels();
  std::vector<Trial> trials;
  for (size_t axis = 0; axis < levels.size(); ++axis) {
    Row row = {0, 0, 0, 0, levels[4] - 1};
    for (int value = 0; value < levels[axis]; ++value) {
      row[axis] = value;
      const Trial trial = TrialOf(row);
      if (NameOf(trial) != NameOf(BaselineTrial())) trials.push_back(trial);
    }
  }
  return trials;
}

std::vector<Trial> TrialsOf(const std::vector<Row>& rows) {
  std::vector<Trial> trials;
  for (const Row& row : rows) trials.push_back(TrialOf(row));
  return trials;
}

void ExpectSameBytesOfAll(const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    SCOPED_TRACE(NameOf(trial));
    ExpectSameBytes(trial, RunTrial(trial));
  }
}

TEST(DeterminismTest, TheBaselineIsExecutedAsItSays) { ExpectSameBytes(BaselineTrial(), Baseline()); }

TEST(DeterminismTest, EachAxisAloneGivesTheSameBytes) { ExpectSameBytesOfAll(TrialsOfOneAxis()); }

TEST(DeterminismTest, AnyTwoValuesOfTwoAxesGiveTheSameBytes) {
  ExpectSameBytesOfAll(TrialsOf(AllPairs(TrialLevels())));
}

TEST(DeterminismTest, AnotherSeedGivesOtherWeights) {
  const TrainedRun run = Train(kSmallRun, {"run.seed=8"}, {});
  EXPECT_NE(run.run_sha256, Baseline().run_sha256);
  EXPECT_NE(run.weights_sha256, Baseline().weights_sha256);
}

// The same sums in another order, which is all that the number of shards changes, are other bits: if the run could not
// tell, equal bytes would say nothing about orders.
TEST(DeterminismTest, AnotherOrderOfSumsGivesOtherWeights) {
  const TrainedRun run = Train(kSmallRun, {"run.logical_shards=4"}, {});
  EXPECT_NE(run.weights_sha256, Baseline().weights_sha256);
}

}  // namespace
}  // namespace reprise::testing
