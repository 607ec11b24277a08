#include "kernels/rotary/rotary.h"

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

TEST(MakeRotaryTableTest, HoldsTheRoundedExactValues) {
  const RotaryTable table = MakeRotaryTable(20000, 32, 10000.0);
  ASSERT_EQ(table.cos.size(), 20000u * 16);
  for (int64_t position : {0, 1, 100, 4095, 4096, 19999}) {
    for (int64_t j = 0; j < 16; ++j) {
      const long double angle = position * std::pow(10000.0L, -2.0L * j / 32);
      // Half an ulp of float, plus the rounding error of a double of several thousand.
      EXPECT_NEAR(table.cos[position * 16 + j], static_cast<double>(std::cos(angle)), 3.1e-8);
      EXPECT_NEAR(table.sin[position * 16 + j], static_cast<double>(std::sin(angle)), 3.1e-8);
    }
  }
}

TEST(MakeRotaryTableTest, KeepsItsBits) {
  const RotaryTable table = MakeRotaryTable(300, 16, 500000.0);
  EXPECT_TRUE(BitEqual({0x1.14a28p-1f, 0x1.a3bea4p-1f, 0x1.16d038p-3f},
                       {table.cos[8 * 1], table.sin[8 * 299 + 3], table.cos[8 * 299 + 1]}));
}

std::vector<float> Reference(const std::vector<float>& x, int64_t rows, int64_t heads, int64_t ldx,
                             const RotaryTable& table, const std::vector<int32_t>& positions, float sign) {
  const int64_t half = table.head_width / 2;
  std::vector<float> y = x;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t j = 0; j < half; ++j) {
        const int64_t at = r * ldx + h * table.head_width + j, entry = positions[r] * half + j;
        const float cos = table.cos[entry], sin = sign * table.sin[entry];
        y[at] = std::fma(x[at], cos, -(x[at + half] * sin));
        y[at + half] = std::fma(x[at + half], cos, x[at] * sin);
      }
    }
  }
  return y;
}

TEST(RotateTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (int64_t head_width : {2, 4, 16, 30, 32, 34, 64, 128}) {
    const RotaryTable table = MakeRotaryTable(50, head_width, 10000.0);
    for (int64_t rows : {0, 1, 3}) {
      for (int64_t heads : {0, 1, 3}) {
        const int64_t ldx = heads * head_width + 5;
        const std::vector<float> x = RandomNormals(rows * ldx, head_width);
        const std::vector<int32_t> positions = {49, 0, 7};
        const std::vector<float> forward = Reference(x, rows, heads, ldx, table, positions, 1.0f);
        const std::vector<float> backward = Reference(x, rows, heads, ldx, table, positions, -1.0f);
        ForEachIsa([&] {
          std::vector<float> y = x, dx = x;
          Rotate(table, positions.data(), {y.data(), rows, heads * head_width, ldx});
          EXPECT_TRUE(BitEqual(forward, y)) << rows << " " << heads << " " << head_width;
          RotateBackward(table, positions.data(), {dx.data(), rows, heads * head_width, ldx});
          EXPECT_TRUE(BitEqual(backward, dx)) << rows << " " << heads << " " << head_width;
          if (rows * heads > 0) {
            EXPECT_FALSE(BitEqual(WithOneBitFlipped(forward, 0), y));
            EXPECT_FALSE(BitEqual(backward, y));
          }
        });
      }
    }
  }
}

// A rotation is orthogonal: its gradient is its inverse.
TEST(RotateBackwardTest, InvertsTheRotation) {
  const RotaryTable table = MakeRotaryTable(1000, 64, 10000.0);
  const std::vector<float> x = RandomNormals(64, 1);
  const std::vector<int32_t> position = {777};
  std::vector<float> y = x;
  Rotate(table, position.data(), {y.data(), 1, 64});
  EXPECT_FALSE(BitEqual(x, y));
  RotateBackward(table, position.data(), {y.data(), 1, 64});
  EXPECT_LT(LargestError(std::vector<double>(x.begin(), x.end()), y), 1e-6);
}

}  // namespace
}  // namespace reprise::kernels
