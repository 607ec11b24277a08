#include "kernels/rows/silu_gate.h"

#include <cmath>
#include <vector>

#include "kernels/math/vector_math.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Case {
  int64_t rows, n, ld;  // the same stride for all arrays
  std::vector<float> gate, up, dy;
  Case(int64_t r, int64_t width)
      : rows(r),
        n(width),
        ld(width + 3),
        gate(RandomNormals(r * ld, 1, 4.0f)),
        up(RandomNormals(r * ld, 2)),
        dy(RandomNormals(r * ld, 3)) {}

  ConstRows Of(const std::vector<float>& values) const { return {values.data(), rows, n, ld}; }
  Rows Of(std::vector<float>& values) const { return {values.data(), rows, n, ld}; }
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t rows : {0, 1, 3}) {
    for (int64_t n : {0, 1, 7, 8, 16, 31, 63, 64, 65, 200}) cases.emplace_back(rows, n);
  }
  return cases;
}

// Applies f(gate, up, dy) at the elements of the rows; the rest of the array is 5.
template <typename F>
std::vector<float> AtElements(const Case& c, F f) {
  std::vector<float> y(c.rows * c.ld, 5.0f);
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t i = r * c.ld; i < r * c.ld + c.n; ++i) y[i] = f(c.gate[i], c.up[i], c.dy[i]);
  }
  return y;
}

float Sigma(float g) { return 1.0f / (1.0f + Exp(-g)); }

TEST(SiluGateTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const Case& c : Cases()) {
    const auto expected = AtElements(c, [](float g, float u, float) { return g / (1.0f + Exp(-g)) * u; });
    ForEachIsa([&] {
      std::vector<float> y(c.rows * c.ld, 5.0f);
      SiluGate(c.Of(c.gate), c.Of(c.up), c.Of(y));
      EXPECT_TRUE(BitEqual(expected, y)) << c.rows << " x " << c.n;
      if (!expected.empty()) {
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), y));
      }
    });
  }
}

TEST(SiluGateBackwardTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const Case& c : Cases()) {
    const auto expected_up = AtElements(c, [](float g, float, float dy) { return dy * (g * Sigma(g)); });
    const auto expected_gate = AtElements(
        c, [](float g, float u, float dy) { return dy * u * (Sigma(g) * std::fma(g, 1.0f - Sigma(g), 1.0f)); });
    ForEachIsa([&] {
      std::vector<float> dgate(c.rows * c.ld, 5.0f), dup = dgate;
      SiluGateBackward(c.Of(c.gate), c.Of(c.up), c.Of(c.dy), c.Of(dgate), c.Of(dup));
      EXPECT_TRUE(BitEqual(expected_gate, dgate)) << c.rows << " x " << c.n;
      EXPECT_TRUE(BitEqual(expected_up, dup)) << c.rows << " x " << c.n;
      std::vector<float> gate = c.gate, up = c.up;
      SiluGateBackward(c.Of(gate), c.Of(up), c.Of(c.dy), c.Of(gate), c.Of(up));
      for (int64_t r = 0; r < c.rows; ++r) {
        const size_t n = c.n;
        EXPECT_TRUE(BitEqual({expected_gate.data() + r * c.ld, n}, {gate.data() + r * c.ld, n}));
        EXPECT_TRUE(BitEqual({expected_up.data() + r * c.ld, n}, {up.data() + r * c.ld, n}));
      }
    });
  }
}

double ExactSilu(double g) { return g / (1.0 + std::exp(-g)); }

TEST(SiluGateTest, IsCloseToTheExactValuesAndSlopes) {
  const Case c(1, 500);
  std::vector<float> y(c.ld), dgate(c.ld), dup(c.ld);
  SiluGate(c.Of(c.gate), c.Of(c.up), c.Of(y));
  SiluGateBackward(c.Of(c.gate), c.Of(c.up), c.Of(c.dy), c.Of(dgate), c.Of(dup));
  for (int64_t i = 0; i < c.n; ++i) {
    const double g = c.gate[i], u = c.up[i], dy = c.dy[i], h = 1e-5;
    EXPECT_NEAR(y[i], ExactSilu(g) * u, 3e-7 * (std::fabs(ExactSilu(g) * u) + 1e-3));
    EXPECT_NEAR(dup[i], dy * ExactSilu(g), 2e-6);
    EXPECT_NEAR(dgate[i], dy * u * (ExactSilu(g + h) - ExactSilu(g - h)) / (2 * h), 2e-6);
  }
}

TEST(SiluGateTest, KeepsLargeGatesFiniteAndPropagatesNan) {
  const std::vector<float> gate = {1000.0f, -1000.0f, NAN}, up = {2.0f, 2.0f, 2.0f}, dy = {1.0f, 1.0f, 1.0f};
  ForEachIsa([&] {
    std::vector<float> y(3), dgate(3), dup(3);
    const ConstRows gates = {gate.data(), 1, 3}, ups = {up.data(), 1, 3};
    SiluGate(gates, ups, {y.data(), 1, 3});
    SiluGateBackward(gates, ups, {dy.data(), 1, 3}, {dgate.data(), 1, 3}, {dup.data(), 1, 3});
    EXPECT_TRUE(BitEqual({2000.0f, -0.0f}, {y.data(), 2}));
    EXPECT_TRUE(BitEqual({2.0f, -0.0f}, {dgate.data(), 2}));
    EXPECT_TRUE(std::isnan(y[2]) && std::isnan(dgate[2]) && std::isnan(dup[2]));
  });
}

}  // namespace
}  // namespace reprise::kernels
