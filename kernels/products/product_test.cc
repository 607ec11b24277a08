#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/products/products.h"
#include "kernels/products/reference.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomFloats;

struct Shape {
  int64_t rows, n, k;
};

// Each path of the kernel: few rows, rows in place and in groups, packed rows; partial panels, one and several
// segments.
constexpr Shape kShapes[] = {{0, 5, 7},        {3, 0, 7},       {3, 5, 0},      {1, 1, 1},        {1, 200, 70},
                             {2, 128, 64},     {3, 96, 512},    {4, 65, 513},   {5, 160, 1025},   {8, 64, 64},
                             {13, 33, 31},     {64, 64, 64},    {14, 129, 600}, {100, 130, 100},  {43, 256, 64},
                             {7, 31, 2000},    {270, 130, 513}, {300, 40, 600}, {270, 130, 1025}, {260, 1030, 130},
                             {270, 130, 2000}, {150, 160, 1536}};

std::vector<float> Packed(const std::vector<float>& w, int64_t n, int64_t k) {
  std::vector<float> packed(PackedSize(n, k));
  PackForward(w.data(), n, k, packed.data(), 0, Panels(n));
  return packed;
}

std::vector<float> Forward(const Shape& s, const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<float> y(s.rows * s.n);
  Product({x.data(), s.rows, s.k}, Packed(w, s.n, s.k).data(), {y.data(), s.rows, s.n});
  return y;
}

TEST(ProductTest, EveryForwardElementIsOneChainRestartedEverySegment) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.n << " x " << s.k);
    const std::vector<float> x = RandomFloats(s.rows * s.k, 1), w = RandomFloats(s.n * s.k, 2);
    const std::vector<float> expected = ReferenceForward(s.rows, s.n, s.k, x.data(), w.data());
    ForEachIsa([&] { EXPECT_TRUE(BitEqual(Forward(s, x, w), expected)); });
  }
}

TEST(ProductTest, EveryInputGradientIsOneChainOverTheOutputs) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.n << " x " << s.k);
    const std::vector<float> dy = RandomFloats(s.rows * s.n, 3), w = RandomFloats(s.n * s.k, 4);
    const std::vector<float> expected = ReferenceInput(s.rows, s.n, s.k, dy.data(), w.data());
    std::vector<float> packed(PackedSize(s.k, s.n));
    PackTransposed(w.data(), s.n, s.k, packed.data(), 0, Panels(s.k));
    ForEachIsa([&] {
      std::vector<float> dx(s.rows * s.k);
      Product({dy.data(), s.rows, s.n}, packed.data(), {dx.data(), s.rows, s.k});
      EXPECT_TRUE(BitEqual(dx, expected));
    });
  }
}

// Any strides; the gaps between the rows of y are not written. Tiny values give subnormals and signed zeros.
RC_GTEST_PROP(ProductPropertyTest, AnyShapeAndStrideEqualsTheReference, ()) {
  const Shape s = {*rc::gen::inRange<int64_t>(0, 40), *rc::gen::inRange<int64_t>(0, 150),
                   *rc::gen::inRange<int64_t>(0, 800)};
  const int64_t ldx = s.k + *rc::gen::inRange(0, 5), ldy = s.n + *rc::gen::inRange(0, 5);
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  const float scale = *rc::gen::element(1.0f, 1e-20f, 1e15f);
  std::vector<float> x = RandomFloats(s.rows * ldx, seed), w = RandomFloats(s.n * s.k, seed + 1), dense;
  for (float& value : x) value *= scale;
  for (float& value : w) value *= scale;
  for (int64_t r = 0; r < s.rows; ++r) dense.insert(dense.end(), x.begin() + r * ldx, x.begin() + r * ldx + s.k);
  const std::vector<float> y = ReferenceForward(s.rows, s.n, s.k, dense.data(), w.data());
  std::vector<float> expected(s.rows * ldy, -7.0f);
  for (int64_t i = 0; i < s.rows * s.n; ++i) expected[i / s.n * ldy + i % s.n] = y[i];
  ForEachIsa([&] {
    std::vector<float> actual(s.rows * ldy, -7.0f);
    Product({x.data(), s.rows, s.k, ldx}, Packed(w, s.n, s.k).data(), {actual.data(), s.rows, s.n, ldy});
    RC_ASSERT(BitEqual(actual, expected));
  });
}

TEST(ProductTest, ARowHasTheSameBitsAloneAndInAnyBatch) {
  const Shape s = {300, 130, 1100};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 5), packed = Packed(RandomFloats(s.n * s.k, 6), s.n, s.k);
  ForEachIsa([&] {
    std::vector<float> whole(s.rows * s.n), parts(s.rows * s.n);
    const ConstRows rows = {x.data(), s.rows, s.k};
    const Rows part_rows = {parts.data(), s.rows, s.n};
    Product(rows, packed.data(), {whole.data(), s.rows, s.n});
    int64_t size = 1;
    for (int64_t row = 0; row < s.rows; row += size++) {
      size = std::min(size, s.rows - row);
      Product(rows.Slice({row, row + size}), packed.data(), part_rows.Slice({row, row + size}));
    }
    EXPECT_TRUE(BitEqual(parts, whole));
  });
}

TEST(ProductTest, ACallWritesItsPanelsAndNoOthers) {
  const Shape s = {20, 170, 600};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 7), packed = Packed(RandomFloats(s.n * s.k, 8), s.n, s.k);
  std::vector<float> whole(s.rows * s.n);
  ForEachIsa([&] {
    const ConstRows rows = {x.data(), s.rows, s.k};
    Product(rows, packed.data(), {whole.data(), s.rows, s.n});
    for (int64_t first = 0; first <= Panels(s.n); ++first) {
      for (int64_t last = first; last <= Panels(s.n); ++last) {
        std::vector<float> y(s.rows * s.n, -7.0f), expected = y;
        for (int64_t i = 0; i < s.rows * s.n; ++i) {
          if (i % s.n >= first * kPanel && i % s.n < last * kPanel) expected[i] = whole[i];
        }
        Product(rows, packed.data(), {y.data(), s.rows, s.n}, {first, last});
        EXPECT_TRUE(BitEqual(y, expected)) << first << ".." << last;
      }
    }
  });
}

TEST(ProductTest, StaysWithinTheErrorBoundOfItsChains) {
  const Shape s = {3, 40, 5000};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 9), w = RandomFloats(s.n * s.k, 10);
  const std::vector<float> y = Forward(s, x, w);
  for (int64_t i = 0; i < s.rows * s.n; ++i) {
    double exact = 0, size = 0;
    for (int64_t c = 0; c < s.k; ++c) {
      const double term = double{x[i / s.n * s.k + c]} * double{w[i % s.n * s.k + c]};
      exact += term;
      size += std::fabs(term);
    }
    // The number of roundings between a term and the result: its segment's chain, then the segments' sum.
    const double roundings = static_cast<double>(kSegment + Panels(s.k));
    EXPECT_NEAR(y[i], exact, roundings * 0x1p-24 * size);
    EXPECT_NEAR(y[i], exact, 4e-6 * std::sqrt(static_cast<double>(s.k))) << "typical error is far below the bound";
  }
}

// The negative control: the comparison detects another order, a missing restart and one flipped bit.
TEST(ProductTest, DiffersFromOtherOrdersOfTheSameSum) {
  const Shape s = {4, 40, 1100};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 11), w = RandomFloats(s.n * s.k, 12);
  const std::vector<float> y = Forward(s, x, w);
  std::vector<float> descending(y.size()), one_chain(y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const float* const a = &x[i / s.n * s.k];
    const float* const b = &w[i % s.n * s.k];
    descending[i] =
        ReferenceChain(s.k, [&](int64_t c) { return a[s.k - 1 - c]; }, [&](int64_t c) { return b[s.k - 1 - c]; });
    for (int64_t c = 0; c < s.k; ++c) one_chain[i] = std::fma(a[c], b[c], one_chain[i]);
  }
  EXPECT_FALSE(BitEqual(y, descending));
  EXPECT_FALSE(BitEqual(y, one_chain));
  EXPECT_FALSE(BitEqual(y, testing::WithOneBitFlipped(y, 77)));
}

}  // namespace
}  // namespace reprise::kernels
