// Every combination of the axes, which takes minutes; determinism_test covers any two values of two axes in seconds.

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

TEST(FullProductTest, EveryExecutionGivesTheSameBytes) {
  for (const Row& row : FullProduct(TrialLevels())) {
    const Trial trial = TrialFromRow(row);
    SCOPED_TRACE(DescribeTrial(trial));
    ExpectSameBytes(trial, RunTrial(trial));
  }
}

}  // namespace
}  // namespace reprise::testing
