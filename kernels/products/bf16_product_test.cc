// Products with bf16 weights: the bits of the chain with each weight rounded.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// By definition: of the two neighbours with 8 significant bits, the nearer one, or the even one in a tie.
float Rounded(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), -126) - 7;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -exponent)), exponent));
}

std::vector<float> Rounded(std::vector<float> values) {
  for (float& value : values) value = Rounded(value);
  return values;
}

TEST(RoundToBf16Test, RoundsToNearestTiesToEven) {
  EXPECT_EQ(FromBf16(RoundToBf16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(FromBf16(RoundToBf16(1.0f + 0x1.8p-7f)), 1.0f + 0x1p-6f);
  EXPECT_EQ(FromBf16(RoundToBf16(-1.0f - 0x1.01p-8f)), -1.0f - 0x1p-7f);
  EXPECT_EQ(RoundToBf16(std::numeric_limits<float>::max()), RoundToBf16(INFINITY));
  for (uint64_t i = 0; i < (uint64_t{1} << 32); i += 9973) {
    const uint32_t bits = static_cast<uint32_t>(i);
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(FromBf16(RoundToBf16(value)))) << std::hex << bits;
    } else {
      ASSERT_EQ(BitsOf(FromBf16(RoundToBf16(value))), BitsOf(Rounded(value))) << std::hex << bits;
    }
  }
}

TEST(RoundToBf16Test, ANanOfAnyPayloadStaysNan) {
  for (const uint32_t bits : {0x7F800001u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu, 0x7FC00000u}) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    EXPECT_TRUE(std::isnan(FromBf16(RoundToBf16(value)))) << std::hex << bits;
  }
}

struct Shape {
  int64_t rows, n, k;
};

// Each path of the kernel, as in product_test.
constexpr Shape kShapes[] = {{0, 5, 7},        {3, 5, 0},       {1, 1, 1},    {1, 200, 70},    {2, 128, 64},
                             {3, 96, 512},     {4, 65, 513},    {5, 160, 90}, {8, 64, 64},     {13, 33, 31},
                             {14, 129, 600},   {43, 256, 64},   {7, 31, 900}, {270, 130, 513}, {300, 40, 600},
                             {260, 1030, 130}, {270, 130, 1600}};

std::vector<float> Forward(const Shape& s, const std::vector<float>& x, int64_t ldx, const std::vector<float>& w) {
  std::vector<Bf16Pair> packed(static_cast<size_t>(PackedSize(s.n, s.k) / 2 + 1));
  PackForward(w.data(), s.n, s.k, packed.data(), 0, Panels(s.n));
  std::vector<float> y(static_cast<size_t>(s.rows * s.n));
  Product({x.data(), s.rows, s.k, ldx}, packed.data(), {y.data(), s.rows, s.n});
  return y;
}

TEST(Bf16ProductTest, EveryForwardElementIsTheChainOfRoundedWeights) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.n << " x " << s.k);
    const std::vector<float> x = RandomFloats(s.rows * s.k, 1), w = RandomFloats(s.n * s.k, 2);
    const std::vector<float> expected = ReferenceForward(s.rows, s.n, s.k, x.data(), Rounded(w).data());
    ForEachIsa([&] { EXPECT_TRUE(BitEqual(Forward(s, x, s.k, w), expected)); });
  }
}

TEST(Bf16ProductTest, EveryInputGradientIsTheChainOfRoundedWeights) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(::testing::Message() << s.rows << " x " << s.n << " x " << s.k);
    const std::vector<float> dy = RandomFloats(s.rows * s.n, 3), w = RandomFloats(s.n * s.k, 4);
    const std::vector<float> expected = ReferenceInput(s.rows, s.n, s.k, dy.data(), Rounded(w).data());
    std::vector<Bf16Pair> packed(static_cast<size_t>(PackedSize(s.k, s.n) / 2 + 1));
    PackTransposed(w.data(), s.n, s.k, packed.data(), 0, Panels(s.k));
    ForEachIsa([&] {
      std::vector<float> dx(static_cast<size_t>(s.rows * s.k));
      Product({dy.data(), s.rows, s.n}, packed.data(), {dx.data(), s.rows, s.k});
      EXPECT_TRUE(BitEqual(dx, expected));
    });
  }
}

RC_GTEST_PROP(Bf16ProductPropertyTest, AnyShapeAndStrideEqualsTheReference, ()) {
  const Shape s = {*rc::gen::inRange<int64_t>(0, 40), *rc::gen::inRange<int64_t>(0, 150),
                   *rc::gen::inRange<int64_t>(0, 800)};
  const int64_t ldx = s.k + *rc::gen::inRange(0, 5);
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  const float scale = *rc::gen::element(1.0f, 1e-20f, 1e15f);
  std::vector<float> x = RandomFloats(s.rows * ldx, seed), w = RandomFloats(s.n * s.k, seed + 1), dense;
  for (float& value : w) value *= scale;
  for (int64_t r = 0; r < s.rows; ++r) dense.insert(dense.end(), x.begin() + r * ldx, x.begin() + r * ldx + s.k);
  const std::vector<float> expected = ReferenceForward(s.rows, s.n, s.k, dense.data(), Rounded(w).data());
  ForEachIsa([&] { RC_ASSERT(BitEqual(Forward(s, x, ldx, w), expected)); });
}

TEST(Bf16ProductTest, ACallWritesItsPanelsAndNoOthers) {
  const Shape s = {20, 170, 600};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 7), w = RandomFloats(s.n * s.k, 8);
  std::vector<Bf16Pair> packed(static_cast<size_t>(PackedSize(s.n, s.k) / 2));
  for (int64_t p = 0; p < Panels(s.n); ++p) PackForward(w.data(), s.n, s.k, packed.data(), p, p + 1);
  ForEachIsa([&] {
    const std::vector<float> whole = Forward(s, x, s.k, w);
    for (int64_t first = 0; first < Panels(s.n); ++first) {
      std::vector<float> y(whole.size(), -7.0f), expected = y;
      for (size_t i = 0; i < y.size(); ++i) {
        if (static_cast<int64_t>(i) % s.n / kPanel == first) expected[i] = whole[i];
      }
      Product({x.data(), s.rows, s.k}, packed.data(), {y.data(), s.rows, s.n}, {first, first + 1});
      EXPECT_TRUE(BitEqual(y, expected)) << first;
    }
  });
}

TEST(Bf16ProductTest, DiffersFromTheProductOfWeightsThatWereNotRounded) {
  const Shape s = {4, 40, 100};
  const std::vector<float> x = RandomFloats(s.rows * s.k, 9), w = RandomFloats(s.n * s.k, 10);
  const std::vector<float> y = Forward(s, x, s.k, w);
  EXPECT_FALSE(BitEqual(y, ReferenceForward(s.rows, s.n, s.k, x.data(), w.data())));
  EXPECT_FALSE(BitEqual(y, testing::WithOneBitFlipped(y, 77)));
}

}  // namespace
}  // namespace reprise::kernels
