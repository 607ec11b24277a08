// Promise: the same bytes, for what an algorithm can be told beside its name (choices.toml); and the run proves itself.

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

constexpr char kChoices[] = "tests/determinism/choices.toml";

TEST(AlgorithmChoicesTest, GiveTheSameBytesOnAnyRanksAndForAnyExecution) {
  const TrainedRun one = Train(kChoices, {}, {});
  ASSERT_FALSE(one.run_sha256.empty());

  const TrainedRun ranks = Train(kChoices, {}, {.ranks = 3});
  EXPECT_EQ(ranks.counts.ranks, 3);
  EXPECT_EQ(ranks.run_sha256, one.run_sha256);

  const TrainedRun pieces =
      Train(kChoices, {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"},
            {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(pieces.counts.avx2_ranks, 4);
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
}

}  // namespace
}  // namespace reprise::testing
