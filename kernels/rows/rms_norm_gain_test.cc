// The gain's gradient is a chain over a shard's rows, which may be split into calls anywhere.

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/rows/rms_norm.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Shard {
  int64_t rows, n;
  std::vector<float> x, dy, gain, inverse;
  Shard(int64_t r, int64_t width)
      : rows(r),
        n(width),
        x(RandomNormals(r * width, 1)),
        dy(RandomNormals(r * width, 2)),
        gain(RandomFloats(width, 3)),
        inverse(RandomFloats(r, 4, 0.5f, 2.0f)) {}
};

std::vector<float> Reference(const Shard& shard, int64_t segment) {
  std::vector<float> total(shard.n, 0.0f);
  for (int64_t j = 0; j < shard.n; ++j) {
    for (int64_t begin = 0; begin < shard.rows; begin += segment) {
      float chain = 0;
      for (int64_t r = begin; r < std::min(shard.rows, begin + segment); ++r) {
        chain = std::fma(shard.dy[r * shard.n + j], shard.x[r * shard.n + j] * shard.inverse[r], chain);
      }
      total[j] = begin == 0 ? chain : total[j] + chain;
    }
  }
  return total;
}

// The gradient by calls that end after each of `cuts` rows; with `separate_end`, an empty call is the one with `last`.
std::vector<float> ByCalls(const Shard& shard, const std::vector<int64_t>& cuts, bool separate_end) {
  // Contents that must not affect a call start as NaN.
  std::vector<float> total(shard.n, NAN), open(shard.n, NAN), dx(shard.rows * shard.n);
  const ConstRows x = {shard.x.data(), shard.rows, shard.n}, dy = {shard.dy.data(), shard.rows, shard.n};
  const Rows dx_rows = {dx.data(), shard.rows, shard.n};
  const auto call = [&](int64_t begin, int64_t end, bool last) {
    const Range rows = {begin, end};
    RmsNormBackward(x.Slice(rows), shard.gain.data(), shard.inverse.data() + begin, dy.Slice(rows), false,
                    dx_rows.Slice(rows), {total.data(), open.data(), begin, last});
  };
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    call(begin, cut, false);
    begin = cut;
  }
  if (separate_end) {
    call(begin, shard.rows, false);
    begin = shard.rows;
  }
  call(begin, shard.rows, true);
  return total;
}

TEST(RmsNormGainTest, DoesNotDependOnHowTheShardIsSplitIntoCalls) {
  for (int64_t n : {1, 17, 64, 100}) {
    const Shard shard(1300, n);
    const std::vector<float> expected = Reference(shard, 512);
    ForEachIsa([&] {
      for (bool separate_end : {false, true}) {
        for (const std::vector<int64_t>& cuts : std::vector<std::vector<int64_t>>{
                 {}, {1}, {512}, {511, 513}, {100, 512, 1024}, {600, 600, 601, 1299}, {0, 1300}}) {
          EXPECT_TRUE(BitEqual(expected, ByCalls(shard, cuts, separate_end))) << n;
        }
      }
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), ByCalls(shard, {}, false)));
      EXPECT_FALSE(BitEqual(Reference(shard, 2000), ByCalls(shard, {}, false))) << "one chain would be another order";
    });
  }
}

TEST(RmsNormGainTest, EndsAtEveryKindOfRow) {
  for (int64_t rows : {0, 1, 2, 511, 512, 513, 1024}) {
    const Shard shard(rows, 20);
    ForEachIsa([&] {
      for (bool separate_end : {false, true}) {
        EXPECT_TRUE(BitEqual(Reference(shard, 512), ByCalls(shard, {}, separate_end))) << rows;
      }
    });
  }
}

TEST(RmsNormGainTest, IsCloseToTheExactSum) {
  const Shard shard(1300, 20);
  std::vector<double> exact(20);
  for (int64_t r = 0; r < shard.rows; ++r) {
    for (int64_t j = 0; j < 20; ++j) {
      exact[j] += double{shard.dy[r * 20 + j]} * shard.x[r * 20 + j] * shard.inverse[r];
    }
  }
  EXPECT_LT(LargestError(exact, ByCalls(shard, {}, false)), 1e-4);
}

}  // namespace
}  // namespace reprise::kernels
