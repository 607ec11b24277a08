#include "kernels/rows/elementwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

constexpr int64_t kSizes[] = {0, 1, 7, 8, 15, 16, 17, 64, 100, 1000};

template <typename F>
std::vector<float> Elementwise(const std::vector<float>& a, const std::vector<float>& b, F f) {
  std::vector<float> y;
  for (size_t i = 0; i < a.size(); ++i) y.push_back(f(a[i], b[i]));
  return y;
}

TEST(ElementwiseTest, EqualsTheScalarReferencesOnEveryInstructionSet) {
  for (int64_t n : kSizes) {
    const std::vector<float> a = RandomNormals(n, 1), b = RandomNormals(n, 2);
    const auto sum = Elementwise(a, b, [](float x, float y) { return x + y; });
    const auto clamped = Elementwise(a, b, [](float x, float) { return std::fmin(std::fmax(x, -0.5f), 0.7f); });
    const auto passed = Elementwise(a, b, [](float x, float dy) { return x >= -0.5f && x <= 0.7f ? dy : 0.0f; });
    ForEachIsa([&] {
      std::vector<float> y(n), into_a = a, into_b = b, c = a, dy = b;
      Add(n, a.data(), b.data(), y.data());
      Add(n, into_a.data(), b.data(), into_a.data());
      Add(n, a.data(), into_b.data(), into_b.data());
      Clamp(n, -0.5f, 0.7f, c.data());
      ClampBackward(n, -0.5f, 0.7f, a.data(), dy.data());
      EXPECT_TRUE(BitEqual(sum, y));
      EXPECT_TRUE(BitEqual(sum, into_a));
      EXPECT_TRUE(BitEqual(sum, into_b));
      EXPECT_TRUE(BitEqual(clamped, c));
      EXPECT_TRUE(BitEqual(passed, dy));
      if (n > 0) {
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(sum, n - 1), y));
      }
    });
  }
}

TEST(ActivationTest, EqualsTheScalarReferencesOnEveryInstructionSet) {
  for (int64_t n : kSizes) {
    const std::vector<float> a = RandomNormals(n, 5), b = RandomNormals(n, 6);
    const auto rectified = Elementwise(a, b, [](float x, float) { return x < 0 ? 0.0f : x; });
    const auto passed = Elementwise(rectified, b, [](float y, float dy) { return y > 0 ? dy : 0.0f; });
    const auto of_tanh = Elementwise(a, b, [](float y, float dy) { return dy * std::fma(-y, y, 1.0f); });
    ForEachIsa([&] {
      std::vector<float> y = a, dy = b, dtanh = b;
      Relu(n, y.data());
      EXPECT_TRUE(BitEqual(rectified, y));
      ReluBackward(n, y.data(), dy.data());
      EXPECT_TRUE(BitEqual(passed, dy));
      TanhBackward(n, a.data(), dtanh.data());
      EXPECT_TRUE(BitEqual(of_tanh, dtanh));
      if (n > 0) {
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(of_tanh, n - 1), dtanh));
      }
    });
  }
}

TEST(ActivationTest, ReluKeepsNanAndPassesNoGradientAtZero) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  ForEachIsa([&] {
    std::vector<float> y = {kNan, -0.0f, 0.0f, -1.0f, 2.0f}, dy(5, 3.0f);
    Relu(5, y.data());
    EXPECT_TRUE(BitEqual({kNan, -0.0f, 0.0f, 0.0f, 2.0f}, y));
    ReluBackward(5, y.data(), dy.data());
    EXPECT_TRUE(BitEqual({0.0f, 0.0f, 0.0f, 0.0f, 3.0f}, dy));
  });
}

TEST(ClampTest, KeepsNanAndZerosAndPassesTheGradientAtItsBounds) {
  const float kInfinity = std::numeric_limits<float>::infinity();
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = {kNan, -0.0f, 0.0f, 2.0f, kInfinity, -kInfinity};
  ForEachIsa([&] {
    std::vector<float> x = before, dy(6, 3.0f);
    Clamp(6, 0.0f, 2.0f, x.data());
    EXPECT_TRUE(BitEqual({kNan, -0.0f, 0.0f, 2.0f, 2.0f, 0.0f}, x));
    ClampBackward(6, 0.0f, 2.0f, before.data(), dy.data());
    EXPECT_TRUE(BitEqual({0.0f, 3.0f, 3.0f, 3.0f, 0.0f, 0.0f}, dy));
  });
}

}  // namespace
}  // namespace reprise::kernels
