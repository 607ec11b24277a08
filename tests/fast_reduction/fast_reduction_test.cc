// Promise: run.reduction = "fast" trains on any ranks and threads, and inspect and compare report that its bits
// cannot be reproduced.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kSmall[] = "tests/determinism/small.toml";

const TrainedRun& FastRun() {
  static const TrainedRun* const run = new TrainedRun(Train(kSmall, {"run.reduction=fast"}, {}));
  return *run;
}

TEST(FastReductionTest, TrainsOnRanksAndThreads) {
  EXPECT_EQ(FastRun().process.exit_code, 0) << FastRun().process.err;
  const TrainedRun run = Train(kSmall, {"run.reduction=fast", "execution.threads=2"}, {.ranks = 2});
  EXPECT_EQ(run.process.exit_code, 0) << run.process.err;
  EXPECT_EQ(run.counts.threads, 4);
  EXPECT_EQ(run.counts.buckets, 0);  // MPI sums the gradients
}

TEST(FastReductionTest, ReproduceIsRejected) {
  const ProcessResult result = RunProgramOnRanks({}, {"pipelines/reproduce", FastRun().file()});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("was made with run.reduction = \"fast\""));
}

TEST(FastReductionTest, InspectAndCompareReportIt) {
  const ProcessResult inspected = RunProgramOnRanks({}, {"pipelines/inspect", FastRun().file()});
  EXPECT_EQ(inspected.exit_code, 0);
  EXPECT_THAT(inspected.err, HasSubstr("it cannot be reproduced"));
  const ProcessResult compared = RunProgramOnRanks({}, {"pipelines/compare", FastRun().file(), FastRun().file()});
  EXPECT_THAT(compared.err, HasSubstr("A was made with run.reduction = \"fast\""));
}

TEST(FastReductionTest, ResumeIsRejected) {
  const ProcessResult result = RunProgramOnRanks(
      {}, {"pipelines/train", kSmall, "--output", FastRun().directory, "--resume", "--set", "run.reduction=fast"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(result.err, HasSubstr("cannot do bit for bit"));
}

}  // namespace
}  // namespace reprise::testing
