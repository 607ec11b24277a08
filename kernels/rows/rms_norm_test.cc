#include "kernels/rows/rms_norm.h"

#include <cmath>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

constexpr float kEps = 1e-5f;
constexpr int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 100, 128, 200, 2048};

struct Row {
  int64_t n;
  std::vector<float> x, gain, dy;
  explicit Row(int64_t size)
      : n(size),
        x(RandomNormals(size, 1000 + size, 2.0f)),
        gain(RandomFloats(size, 2000 + size, 0.5f, 1.5f)),
        dy(RandomNormals(size, 3000 + size)) {}
};

float ReferenceInverse(const Row& row) {
  Lanes sum;
  for (int64_t j = 0; j < row.n; ++j) sum.MulAdd(j, row.x[j], row.x[j]);
  return 1.0f / std::sqrt(sum.Sum() / static_cast<float>(row.n) + kEps);
}

std::vector<float> Reference(const Row& row) {
  std::vector<float> y(row.n);
  for (int64_t j = 0; j < row.n; ++j) y[j] = row.x[j] * ReferenceInverse(row) * row.gain[j];
  return y;
}

std::vector<float> ReferenceInputGradient(const Row& row) {
  const float i = ReferenceInverse(row);
  Lanes c;
  for (int64_t j = 0; j < row.n; ++j) c.MulAdd(j, row.dy[j] * row.gain[j], row.x[j]);
  const float k = c.Sum() * i * i * i / static_cast<float>(row.n);
  std::vector<float> dx(row.n);
  for (int64_t j = 0; j < row.n; ++j) dx[j] = std::fma(-k, row.x[j], i * (row.dy[j] * row.gain[j]));
  return dx;
}

std::vector<double> Exact(const Row& row, const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  std::vector<double> y(row.n);
  for (int64_t j = 0; j < row.n; ++j) y[j] = x[j] / std::sqrt(sum / row.n + kEps) * row.gain[j];
  return y;
}

TEST(RmsNormTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (int64_t n : kSizes) {
    const Row row(n);
    const std::vector<float> expected = Reference(row);
    ForEachIsa([&] {
      std::vector<float> y(n);
      float inverse = 0;
      RmsNorm({row.x.data(), 1, n}, row.gain.data(), kEps, {y.data(), 1, n}, &inverse);
      EXPECT_TRUE(BitEqual(expected, y)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, n / 2), y));
      EXPECT_TRUE(BitEqual({ReferenceInverse(row)}, {inverse}));
      std::vector<float> in_place = row.x;
      RmsNorm({in_place.data(), 1, n}, row.gain.data(), kEps, {in_place.data(), 1, n}, nullptr);
      EXPECT_TRUE(BitEqual(expected, in_place));
    });
    EXPECT_LT(LargestError(Exact(row, {row.x.begin(), row.x.end()}), expected), 4e-6) << n;
  }
}

TEST(RmsNormTest, WritesNothingOutsideItsRows) {
  const Row row(65);
  ForEachIsa([&] {
    std::vector<float> x(3 * 70, 9.0f), y(3 * 80, 7.0f);
    for (int64_t r = 0; r < 3; ++r) std::copy(row.x.begin(), row.x.end(), x.begin() + r * 70);
    RmsNorm({x.data(), 3, 65, 70}, row.gain.data(), kEps, {y.data(), 3, 65, 80}, nullptr);
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_TRUE(BitEqual(Reference(row), {y.data() + r * 80, 65}));
      EXPECT_TRUE(BitEqual(std::vector<float>(15, 7.0f), {y.data() + r * 80 + 65, 15}));
    }
    float inverse = 5;
    RmsNorm({nullptr, 0, 65}, nullptr, kEps, {nullptr, 0, 65}, nullptr);
    RmsNorm({nullptr, 1, 0}, nullptr, kEps, {nullptr, 1, 0}, &inverse);
    EXPECT_EQ(inverse, 5);
  });
}

TEST(RmsNormBackwardTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (int64_t n : kSizes) {
    const Row row(n);
    const float inverse = ReferenceInverse(row);
    const std::vector<float> expected = ReferenceInputGradient(row), before = RandomNormals(n, 4);
    std::vector<float> expected_sum(n), expected_gain(n);
    for (int64_t j = 0; j < n; ++j) {
      expected_sum[j] = before[j] + expected[j];
      expected_gain[j] = std::fma(row.dy[j], row.x[j] * inverse, 0.0f);
    }
    ForEachIsa([&] {
      std::vector<float> dx(n), sum = before, over = row.dy, gain(n, NAN);
      const auto backward = [&](const std::vector<float>& dy, bool accumulate, std::vector<float>& out) {
        RmsNormBackward({row.x.data(), 1, n}, row.gain.data(), &inverse, {dy.data(), 1, n}, accumulate,
                        {out.data(), 1, n}, {gain.data(), nullptr, 0, true});
      };
      backward(row.dy, false, dx);
      EXPECT_TRUE(BitEqual(expected, dx)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, n / 2), dx));
      EXPECT_TRUE(BitEqual(expected_gain, gain));
      backward(row.dy, true, sum);
      EXPECT_TRUE(BitEqual(expected_sum, sum));
      backward(over, false, over);
      EXPECT_TRUE(BitEqual(expected, over)) << "dx in place of dy";
    });
  }
}

TEST(RmsNormBackwardTest, AgreesWithFiniteDifferences) {
  for (int64_t n : {1, 5, 64, 100}) {
    const Row row(n);
    const float inverse = ReferenceInverse(row);
    std::vector<float> dx(n), gain(n);
    RmsNormBackward({row.x.data(), 1, n}, row.gain.data(), &inverse, {row.dy.data(), 1, n}, false, {dx.data(), 1, n},
                    {gain.data(), nullptr, 0, true});
    std::vector<double> numeric(n);
    for (int64_t j = 0; j < n; ++j) {
      const double h = 1e-5;
      std::vector<double> up(row.x.begin(), row.x.end()), down = up;
      up[j] += h;
      down[j] -= h;
      const std::vector<double> y_up = Exact(row, up), y_down = Exact(row, down);
      for (int64_t i = 0; i < n; ++i) numeric[j] += row.dy[i] * (y_up[i] - y_down[i]) / (2 * h);
    }
    EXPECT_LT(LargestError(numeric, dx), 5e-6) << n;
  }
}

}  // namespace
}  // namespace reprise::kernels
