// Promise: the ranks of one run may be on different machines with different execution settings; the run has the same
// bytes as on one rank.

#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kSmallRun[] = "tests/determinism/small.toml";

TEST(UnevenRanksTest, GiveTheSameBytesAsOneRank) {
  const TrainedRun alone = Train(kSmallRun, {}, {});
  const TrainedRun uneven = Train(kSmallRun, {}, {.ranks = 3}, "tests/mpi/uneven_ranks.sh");
  EXPECT_EQ(uneven.run_sha256, alone.run_sha256);
  EXPECT_EQ(uneven.counts.ranks, 3);
  EXPECT_EQ(uneven.counts.threads, 1 + 2 + 3);
  EXPECT_GT(uneven.counts.cut_groups, 0);
  EXPECT_GT(uneven.counts.refills, 0);
  const bool has_avx512 = kernels::AvailableIsas().back() == kernels::Isa::kAvx512;
  EXPECT_EQ(uneven.counts.avx512_ranks, has_avx512 ? 1 : 0);
  EXPECT_EQ(uneven.counts.avx2_ranks, has_avx512 ? 2 : 3);
}

TEST(UnevenRanksTest, OneRankUnderMpirunGivesTheSameBytesAsWithoutMpirun) {
  EXPECT_EQ(Train(kSmallRun, {}, {.ranks = 1, .mpirun = true}).run_sha256, Train(kSmallRun, {}, {}).run_sha256);
}

}  // namespace
}  // namespace reprise::testing
