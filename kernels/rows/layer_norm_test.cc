#include "kernels/rows/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

constexpr float kEps = 1e-5f;

// Up to 64 elements each lane holds one: only longer rows show the roundings of a lane's sum.
std::vector<int64_t> Sizes() {
  std::vector<int64_t> sizes = {1, 2, 7, 15, 16, 17, 63, 64, 65, 128, 2048};
  for (uint64_t i = 0; i < 20; ++i) sizes.push_back(100 + RandomBelow(3000, 11, i));
  return sizes;
}

struct Row {
  int64_t n;
  std::vector<float> x, gain, bias, dy;
  explicit Row(int64_t size)
      : n(size),
        x(RandomNormals(size, 1000 + size, 2.0f)),
        gain(RandomFloats(size, 2000 + size, 0.5f, 1.5f)),
        bias(RandomFloats(size, 4000 + size)),
        dy(RandomNormals(size, 3000 + size)) {}
};

// What the kernel writes, by its contract.
struct Result {
  std::vector<float> normal, y, dx;
  float inverse = 0;
};

Result Reference(const Row& row) {
  const float n = static_cast<float>(row.n);
  Lanes sum, squares, sum_h, product;
  for (int64_t j = 0; j < row.n; ++j) sum.Add(j, row.x[j]);
  const float mean = sum.Sum() / n;
  for (int64_t j = 0; j < row.n; ++j) squares.MulAdd(j, row.x[j] - mean, row.x[j] - mean);
  Result result;
  result.inverse = 1.0f / std::sqrt(squares.Sum() / n + kEps);
  for (int64_t j = 0; j < row.n; ++j) {
    result.normal.push_back((row.x[j] - mean) * result.inverse);
    result.y.push_back(std::fma(result.normal[j], row.gain[j], row.bias[j]));
    const float h = row.dy[j] * row.gain[j];
    sum_h.Add(j, h);
    product.MulAdd(j, h, result.normal[j]);
  }
  const float a = sum_h.Sum() / n, b = product.Sum() / n;
  for (int64_t j = 0; j < row.n; ++j) {
    result.dx.push_back(std::fma(-b, result.normal[j], row.dy[j] * row.gain[j] - a) * result.inverse);
  }
  return result;
}

std::vector<double> Exact(const Row& row, const std::vector<double>& x) {
  double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  const double mean = sum / static_cast<double>(row.n);
  for (const double v : x) squares += (v - mean) * (v - mean);
  std::vector<double> y;
  for (int64_t j = 0; j < row.n; ++j) {
    y.push_back((x[j] - mean) / std::sqrt(squares / static_cast<double>(row.n) + kEps) * row.gain[j] + row.bias[j]);
  }
  return y;
}

TEST(LayerNormTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const int64_t n : Sizes()) {
    const Row row(n);
    const Result expected = Reference(row);
    ForEachIsa([&] {
      std::vector<float> y(n), normal(n), in_place = row.x, dx(n), over = row.dy;
      float inverse = 0;
      const auto forward = [&](const std::vector<float>& x, std::vector<float>& out) {
        LayerNorm({x.data(), 1, n}, row.gain.data(), row.bias.data(), kEps, {out.data(), 1, n}, {normal.data(), 1, n},
                  &inverse);
      };
      const auto backward = [&](const std::vector<float>& dy, std::vector<float>& out) {
        LayerNormInputGradient({normal.data(), 1, n}, &inverse, row.gain.data(), {dy.data(), 1, n}, {out.data(), 1, n});
      };
      forward(row.x, y);
      EXPECT_TRUE(BitEqual(expected.y, y)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected.y, n / 2), y));
      EXPECT_TRUE(BitEqual(expected.normal, normal));
      EXPECT_TRUE(BitEqual({expected.inverse}, {inverse}));
      forward(in_place, in_place);
      EXPECT_TRUE(BitEqual(expected.y, in_place));
      backward(row.dy, dx);
      EXPECT_TRUE(BitEqual(expected.dx, dx)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected.dx, n / 2), dx));
      backward(over, over);
      EXPECT_TRUE(BitEqual(expected.dx, over)) << "dx in place of dy";
    });
    EXPECT_LT(LargestError(Exact(row, {row.x.begin(), row.x.end()}), expected.y), 4e-6) << n;
  }
}

TEST(LayerNormTest, WritesNothingOutsideItsRows) {
  const Row row(65);
  const Result expected = Reference(row);
  ForEachIsa([&] {
    std::vector<float> x(3 * 70, 9.0f), y(3 * 80, 7.0f), normal(3 * 66, 8.0f), dy(3 * 90, 5.0f), dx(3 * 75, 3.0f);
    std::vector<float> inverse(3);
    for (int64_t r = 0; r < 3; ++r) {
      std::copy(row.x.begin(), row.x.end(), x.begin() + r * 70);
      std::copy(row.dy.begin(), row.dy.end(), dy.begin() + r * 90);
    }
    const Rows normal_rows = {normal.data(), 3, 65, 66};
    LayerNorm({x.data(), 3, 65, 70}, row.gain.data(), row.bias.data(), kEps, {y.data(), 3, 65, 80}, normal_rows,
              inverse.data());
    LayerNormInputGradient(normal_rows, inverse.data(), row.gain.data(), {dy.data(), 3, 65, 90},
                           {dx.data(), 3, 65, 75});
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_TRUE(BitEqual(expected.y, {y.data() + r * 80, 65}));
      EXPECT_TRUE(BitEqual(std::vector<float>(15, 7.0f), {y.data() + r * 80 + 65, 15}));
      EXPECT_EQ(normal[r * 66 + 65], 8.0f);
      EXPECT_TRUE(BitEqual(expected.dx, {dx.data() + r * 75, 65}));
      EXPECT_TRUE(BitEqual(std::vector<float>(10, 3.0f), {dx.data() + r * 75 + 65, 10}));
    }
    LayerNorm({nullptr, 0, 65}, nullptr, nullptr, kEps, {nullptr, 0, 65}, {nullptr, 0, 65}, nullptr);
    float untouched = 5;
    LayerNorm({nullptr, 1, 0}, nullptr, nullptr, kEps, {nullptr, 1, 0}, {nullptr, 1, 0}, &untouched);
    LayerNormInputGradient({nullptr, 1, 0}, &untouched, nullptr, {nullptr, 1, 0}, {nullptr, 1, 0});
    EXPECT_EQ(untouched, 5);
  });
}

TEST(LayerNormTest, TheInputGradientAgreesWithFiniteDifferences) {
  for (const int64_t n : {2, 5, 64, 100}) {
    const Row row(n);
    const Result result = Reference(row);
    std::vector<double> numeric(n);
    for (int64_t j = 0; j < n; ++j) {
      constexpr double kStep = 1e-5;
      std::vector<double> up(row.x.begin(), row.x.end()), down = up;
      up[j] += kStep, down[j] -= kStep;
      const std::vector<double> y_up = Exact(row, up), y_down = Exact(row, down);
      for (int64_t i = 0; i < n; ++i) numeric[j] += row.dy[i] * (y_up[i] - y_down[i]) / (2 * kStep);
    }
    EXPECT_LT(LargestError(numeric, result.dx), 1e-5) << n;
  }
}

}  // namespace
}  // namespace reprise::kernels
