#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/tensor.h"
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

// Every path: read in place or packed, partial panels of x, one and several segments.
constexpr Shape kShapes[] = {{0, 5, 7},       {1, 1, 1},       {3, 0, 5},       {3, 5, 0},      {8, 64, 64},
                             {100, 64, 64},   {511, 20, 33},   {512, 14, 257},  {513, 30, 300}, {1030, 17, 70},
                             {600, 300, 290}, {520, 40, 1030}, {513, 1030, 33}, {70, 300, 1024}};

// The rows of a dense matrix, `gap` floats apart.
std::vector<float> WithGaps(const std::vector<float>& rows, int64_t width, int64_t gap) {
  std::vector<float> wide;
  for (size_t i = 0; width > 0 && i < rows.size(); i += width) {
    wide.insert(wide.end(), rows.begin() + i, rows.begin() + i + width);
    wide.resize(wide.size() + gap, 99.0f);
  }
  return wide;
}

constexpr float kGarbage = std::numeric_limits<float>::quiet_NaN();

// dW of rows that arrive in several calls, split before each row of `cuts`, with garbage in the buffers at the start.
std::vector<float> InParts(const Shape& s, const std::vector<float>& dense_dy, const std::vector<float>& dense_x,
                           std::vector<int64_t> cuts, bool last_call_is_empty = false, int64_t gap = 0) {
  const std::vector<float> wide_dy = WithGaps(dense_dy, s.n, gap), wide_x = WithGaps(dense_x, s.k, gap);
  const ConstRows dy = {wide_dy.data(), s.rows, s.n, s.n + gap}, x = {wide_x.data(), s.rows, s.k, s.k + gap};
  std::vector<float> total(s.n * s.k, kGarbage), open(s.n * s.k, kGarbage);
  cuts.push_back(s.rows);
  int64_t row = 0;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const bool last = i + 1 == cuts.size() && !last_call_is_empty;
    AccumulateWeightGradient(dy.Slice({row, cuts[i]}), x.Slice({row, cuts[i]}), {total.data(), open.data(), row, last});
    row = cuts[i];
  }
  if (last_call_is_empty) {
    AccumulateWeightGradient({nullptr, 0, s.n}, {nullptr, 0, s.k}, {total.data(), open.data(), row, true});
  }
  return total;
}

TEST(WeightGradientTest, EveryElementIsOneChainOverRowsRestartedEverySegment) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.n << " x " << s.k);
    const std::vector<float> dy = RandomFloats(s.rows * s.n, 1), x = RandomFloats(s.rows * s.k, 2);
    const std::vector<float> expected = ReferenceWeight(s.rows, s.n, s.k, dy.data(), x.data());
    ForEachIsa([&] {
      std::vector<float> total(s.n * s.k, kGarbage);
      AccumulateWeightGradient({dy.data(), s.rows, s.n}, {x.data(), s.rows, s.k}, {total.data(), nullptr, 0, true});
      EXPECT_TRUE(BitEqual(total, expected));
    });
  }
}

// Any shape, any strides, rows split anywhere (empty calls included): the bits of one call.
RC_GTEST_PROP(WeightGradientPropertyTest, DoesNotDependOnHowRowsAreSplitIntoCalls, ()) {
  const Shape s = {*rc::gen::inRange<int64_t>(0, 1200), *rc::gen::inRange<int64_t>(0, 40),
                   *rc::gen::element<int64_t>(0, 1, 31, 64, 70, 290)};
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  std::vector<int64_t> cuts = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, s.rows + 1));
  std::sort(cuts.begin(), cuts.end());
  const bool last_call_is_empty = *rc::gen::arbitrary<bool>();
  const int64_t gap = *rc::gen::element<int64_t>(0, 3, 1024);
  const float scale = *rc::gen::element(1.0f, 1e-20f);
  std::vector<float> dy = RandomFloats(s.rows * s.n, seed), x = RandomFloats(s.rows * s.k, seed + 1);
  for (float& value : dy) value *= scale;
  for (float& value : x) value *= scale;
  const std::vector<float> expected = ReferenceWeight(s.rows, s.n, s.k, dy.data(), x.data());
  ForEachIsa([&] { RC_ASSERT(BitEqual(InParts(s, dy, x, cuts, last_call_is_empty, gap), expected)); });
}

TEST(WeightGradientTest, ContinuesAtEveryRowOfASegment) {
  const Shape s = {1030, 3, 33};
  const std::vector<float> dy = RandomFloats(s.rows * s.n, 3), x = RandomFloats(s.rows * s.k, 4);
  const std::vector<float> expected = ReferenceWeight(s.rows, s.n, s.k, dy.data(), x.data());
  for (int64_t cut = 0; cut <= s.rows; ++cut) ASSERT_TRUE(BitEqual(InParts(s, dy, x, {cut}), expected)) << cut;
  std::vector<int64_t> everywhere(s.rows);
  for (int64_t i = 0; i < s.rows; ++i) everywhere[i] = i;
  EXPECT_TRUE(BitEqual(InParts(s, dy, x, everywhere), expected));
}

TEST(WeightGradientTest, OutputsMayBeSplitBetweenThreads) {
  const Shape s = {700, 50, 290};
  const std::vector<float> dy = RandomFloats(s.rows * s.n, 5), x = RandomFloats(s.rows * s.k, 6);
  ForEachIsa([&] {
    std::vector<float> whole(s.n * s.k), parts(s.n * s.k);
    const ConstRows dy_rows = {dy.data(), s.rows, s.n}, x_rows = {x.data(), s.rows, s.k};
    AccumulateWeightGradient(dy_rows, x_rows, {whole.data(), nullptr, 0, true});
    const GradientChains chains = {parts.data(), nullptr, 0, true};
    for (int64_t first = 0, count = 1; first < s.n; first += count++) {
      AccumulateWeightGradient(dy_rows.Columns(first, std::min(count, s.n - first)), x_rows, chains.From(first * s.k));
    }
    EXPECT_TRUE(BitEqual(parts, whole));
  });
}

// An aligned gradient of more than 1 MB is written past the caches: with rows of one segment, and of two, whose second
// adds to the first's results. The memory around it stays unchanged.
TEST(WeightGradientTest, LargeGradientsHaveTheSameBitsAtAnyAlignment) {
  for (const int64_t rows : {9, 515}) {
    const Shape s = {rows, 520, 512};
    const std::vector<float> dy = RandomFloats(s.rows * s.n, 7), x = RandomFloats(s.rows * s.k, 8);
    const std::vector<float> expected = ReferenceWeight(s.rows, s.n, s.k, dy.data(), x.data());
    for (const int64_t shift : {0, 1, 8}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, shifted by " << shift);
      ForEachIsa([&] {
        Tensor memory("", DType::kF32, {s.n * s.k + 32});
        const absl::Span<float> floats = memory.mutable_data<float>();
        std::ranges::fill(floats, 99.0f);
        const absl::Span<float> total = floats.subspan(16 + shift, s.n * s.k);
        AccumulateWeightGradient({dy.data(), s.rows, s.n}, {x.data(), s.rows, s.k}, {total.data(), nullptr, 0, true});
        EXPECT_TRUE(BitEqual(total, expected));
        EXPECT_EQ(std::ranges::count(floats, 99.0f), 32);
      });
    }
  }
}

TEST(WeightGradientTest, AShardWithoutRowsGivesZero) {
  const Shape s = {0, 4, 5};
  EXPECT_TRUE(BitEqual(InParts(s, {}, {}, {}, true), std::vector<float>(20, 0.0f)));
  EXPECT_TRUE(BitEqual(InParts(s, {}, {}, {0, 0}), std::vector<float>(20, 0.0f)));
}

TEST(WeightGradientTest, StaysWithinTheErrorBoundOfItsChains) {
  const Shape s = {3000, 5, 40};
  const std::vector<float> dy = RandomFloats(s.rows * s.n, 7), x = RandomFloats(s.rows * s.k, 8);
  const std::vector<float> dw = InParts(s, dy, x, {});
  for (int64_t i = 0; i < s.n * s.k; ++i) {
    double exact = 0, size = 0;
    for (int64_t t = 0; t < s.rows; ++t) {
      const double term = double{dy[t * s.n + i / s.k]} * double{x[t * s.k + i % s.k]};
      exact += term;
      size += std::fabs(term);
    }
    EXPECT_NEAR(dw[i], exact, static_cast<double>(kSegment + 6) * 0x1p-24 * size);
  }
}

// The negative control: the comparison detects segments counted from the start of each call instead of the shard.
TEST(WeightGradientTest, DiffersWhenSegmentsAreCountedPerCall) {
  const Shape s = {900, 8, 40};
  const std::vector<float> dy = RandomFloats(s.rows * s.n, 9), x = RandomFloats(s.rows * s.k, 10);
  const std::vector<float> whole = InParts(s, dy, x, {});
  std::vector<float> first(s.n * s.k), second(s.n * s.k);
  const ConstRows dy_rows = {dy.data(), s.rows, s.n}, x_rows = {x.data(), s.rows, s.k};
  AccumulateWeightGradient(dy_rows.Slice({0, 100}), x_rows.Slice({0, 100}), {first.data(), nullptr, 0, true});
  AccumulateWeightGradient(dy_rows.Slice({100, 900}), x_rows.Slice({100, 900}), {second.data(), nullptr, 0, true});
  for (size_t i = 0; i < first.size(); ++i) first[i] += second[i];
  EXPECT_FALSE(BitEqual(first, whole));
}

}  // namespace
}  // namespace reprise::kernels
