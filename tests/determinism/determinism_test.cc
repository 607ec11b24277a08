// Promise: run.h5 has the same bytes for any number of ranks and threads, any micro-batches, any decoding batches and
// any instruction set: with every workload.

#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

// Returns the trials that differ from the baseline in one axis; compare a failure of another trial with these.
std::vector<Trial> TrialsOfOneAxis(const std::vector<int>& levels) {
  std::vector<Trial> trials;
  for (size_t axis = 0; axis < levels.size(); ++axis) {
    Row row = {0, 0, 0, 0, levels[4] - 1};
    for (int value = 0; value < levels[axis]; ++value) {
      row[axis] = value;
      const Trial trial = TrialFromRow(row);
      if (DescribeTrial(trial) != DescribeTrial(BaselineTrial())) trials.push_back(trial);
    }
  }
  return trials;
}

std::vector<Trial> TrialsFromRows(const std::vector<Row>& rows) {
  std::vector<Trial> trials;
  for (const Row& row : rows) trials.push_back(TrialFromRow(row));
  return trials;
}

// Every workload is executed through the same ranks and threads: the first one has every number of ranks, the others
// have up to three, and eight in one trial. With REPRISE_EVERY_PAIR (every_pair_test, slow) all are executed as the
// first one.
bool HasEveryPair(const TestedWorkload& workload) {
  return workload.name == Workloads().front().name || std::getenv("REPRISE_EVERY_PAIR") != nullptr;
}

std::vector<Row> CoverPairs(const TestedWorkload& workload) {
  std::vector<int> levels = TrialLevels(workload);
  if (HasEveryPair(workload)) return AllPairs(levels);
  const Row most = {levels[0] - 1, 1, 2, 0, 0};
  levels[0] = 3;
  std::vector<Row> rows = AllPairs(levels);
  rows.push_back(most);
  return rows;
}

class DeterminismTest : public ::testing::TestWithParam<TestedWorkload> {
 protected:
  void ExpectSameBytesOfAll(const std::vector<Trial>& trials) {
    for (const Trial& trial : trials) {
      SCOPED_TRACE(DescribeTrial(trial));
      ExpectSameBytes(trial, RunTrial(trial, GetParam()), GetParam());
    }
  }
  TrainedRun TrainWith(const std::string& override) { return Train(GetParam().trial.config, {override}, {}); }
};

TEST_P(DeterminismTest, TheBaselineIsExecutedAsConfigured) {
  ExpectSameBytes(BaselineTrial(), Baseline(GetParam()), GetParam());
}

TEST_P(DeterminismTest, EachAxisAloneGivesTheSameBytes) {
  if (!HasEveryPair(GetParam())) return;
  ExpectSameBytesOfAll(TrialsOfOneAxis(TrialLevels(GetParam())));
}

TEST_P(DeterminismTest, AnyTwoValuesOfTwoAxesGiveTheSameBytes) {
  ExpectSameBytesOfAll(TrialsFromRows(CoverPairs(GetParam())));
}

TEST_P(DeterminismTest, AnotherSeedGivesOtherWeights) {
  const TrainedRun run = TrainWith("run.seed=8");
  EXPECT_NE(run.run_sha256, Baseline(GetParam()).run_sha256);
  EXPECT_NE(run.weights_sha256, Baseline(GetParam()).weights_sha256);
}

// The number of shards changes nothing but the order of sums, and must change the bits of this run: otherwise equal
// bytes would not show that the order of sums is the same.
TEST_P(DeterminismTest, AnotherOrderOfSumsGivesOtherWeights) {
  EXPECT_NE(TrainWith("run.logical_shards=4").weights_sha256, Baseline(GetParam()).weights_sha256);
}

FOR_EACH_WORKLOAD(DeterminismTest);

}  // namespace
}  // namespace reprise::testing
