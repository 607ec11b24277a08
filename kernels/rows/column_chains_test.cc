#include "kernels/rows/column_chains.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Shard {
  int64_t rows, n;
  std::vector<float> a, b;
  Shard(int64_t r, int64_t width) : rows(r), n(width), a(RandomNormals(r * width, 1)), b(RandomNormals(r * width, 2)) {}
};

// The contract in scalars: one chain for each column, restarted every `segment` rows.
std::vector<float> Reference(const Shard& shard, bool of_products, int64_t segment) {
  std::vector<float> total(shard.n, 0.0f);
  for (int64_t j = 0; j < shard.n; ++j) {
    for (int64_t begin = 0; begin < shard.rows; begin += segment) {
      float chain = 0;
      for (int64_t r = begin; r < std::min(shard.rows, begin + segment); ++r) {
        chain = std::fma(shard.a[r * shard.n + j], of_products ? shard.b[r * shard.n + j] : 1.0f, chain);
      }
      total[j] = begin == 0 ? chain : total[j] + chain;
    }
  }
  return total;
}

// The gradient by calls that end after each of `cuts` rows; with `separate_end`, an empty call is the one with `last`.
// Rows have a stride, and contents that must not affect a call are NaN.
std::vector<float> ByCalls(const Shard& shard, bool of_products, std::vector<int64_t> cuts, bool separate_end) {
  const int64_t stride = shard.n + 3;
  std::vector<float> a(shard.rows * stride, NAN), b(shard.rows * stride, NAN);
  for (int64_t r = 0; r < shard.rows; ++r) {
    std::copy_n(shard.a.begin() + r * shard.n, shard.n, a.begin() + r * stride);
    std::copy_n(shard.b.begin() + r * shard.n, shard.n, b.begin() + r * stride);
  }
  const ConstRows all_a = {a.data(), shard.rows, shard.n, stride}, all_b = {b.data(), shard.rows, shard.n, stride};
  std::vector<float> total(shard.n, NAN), open(shard.n, NAN);
  if (separate_end) cuts.push_back(shard.rows);
  cuts.push_back(shard.rows);
  int64_t begin = 0;
  for (size_t c = 0; c < cuts.size(); ++c) {
    const Range rows = {begin, cuts[c]};
    AccumulateColumns(all_a.Slice(rows), of_products ? all_b.Slice(rows) : ConstRows(),
                      {total.data(), open.data(), begin, c + 1 == cuts.size()});
    begin = cuts[c];
  }
  return total;
}

TEST(AccumulateColumnsTest, DoesNotDependOnHowTheShardIsSplitIntoCalls) {
  for (const int64_t n : {1, 7, 16, 63, 64, 65, 130}) {
    const Shard shard(1300, n);
    for (const bool of_products : {true, false}) {
      const std::vector<float> expected = Reference(shard, of_products, 512);
      ForEachIsa([&] {
        for (const bool separate_end : {false, true}) {
          for (const std::vector<int64_t>& cuts : std::vector<std::vector<int64_t>>{
                   {}, {1}, {512}, {511, 513}, {100, 512, 1024}, {600, 600, 601, 1299}, {0, 1300}}) {
            EXPECT_TRUE(BitEqual(expected, ByCalls(shard, of_products, cuts, separate_end))) << n;
          }
        }
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, n / 2), ByCalls(shard, of_products, {}, false)));
        EXPECT_FALSE(BitEqual(Reference(shard, of_products, 2000), ByCalls(shard, of_products, {}, false)))
            << "one chain would be another order";
      });
    }
  }
}

TEST(AccumulateColumnsTest, EndsAtEveryKindOfRow) {
  for (const int64_t rows : {0, 1, 2, 511, 512, 513, 1024}) {
    const Shard shard(rows, 20);
    ForEachIsa([&] {
      for (const bool separate_end : {false, true}) {
        EXPECT_TRUE(BitEqual(Reference(shard, true, 512), ByCalls(shard, true, {}, separate_end))) << rows;
      }
    });
  }
}

TEST(AccumulateColumnsTest, NeedsNoOpenChainsForAShardOfOneCall) {
  const Shard shard(700, 20);
  std::vector<float> total(20, NAN);
  AccumulateColumns({shard.a.data(), 700, 20}, {shard.b.data(), 700, 20}, {total.data(), nullptr, 0, true});
  EXPECT_TRUE(BitEqual(Reference(shard, true, 512), total));
}

TEST(AccumulateColumnsTest, IsCloseToTheExactSum) {
  const Shard shard(1300, 20);
  std::vector<double> exact(20);
  for (int64_t i = 0; i < shard.rows * 20; ++i) exact[i % 20] += double{shard.a[i]} * shard.b[i];
  EXPECT_LT(LargestError(exact, ByCalls(shard, true, {}, false)), 1e-4);
}

}  // namespace
}  // namespace reprise::kernels
