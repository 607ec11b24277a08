// Promise: the same bytes with keys that small.toml leaves at their defaults (variant.toml): shared and clipped
// attention keys, tied embeddings, filtered sampling, batch-wide scales.

#include "gtest/gtest.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

constexpr char kVariant[] = "tests/golden_trace/variant.toml";

TEST(ModelChoicesTest, OtherModelsSamplersAndScalesGiveTheSameBytesToo) {
  const TrainedRun one = Train(kVariant, {}, {});
  ASSERT_FALSE(one.run_sha256.empty());

  const TrainedRun ranks = Train(kVariant, {}, {.ranks = 3});
  EXPECT_EQ(ranks.counts.ranks, 3);
  EXPECT_EQ(ranks.run_sha256, one.run_sha256);

  const TrainedRun pieces =
      Train(kVariant, {"execution.threads=2", "execution.micro_batch_tokens=7", "execution.decode_slots=2"},
            {.ranks = 4, .isa = "avx2"});
  EXPECT_EQ(pieces.counts.threads, 8);
  EXPECT_EQ(pieces.counts.avx2_ranks, 4);
  EXPECT_GT(pieces.counts.cut_groups, 0);
  EXPECT_GT(pieces.counts.refills, 0);
  EXPECT_EQ(pieces.run_sha256, one.run_sha256);
}

}  // namespace
}  // namespace reprise::testing
