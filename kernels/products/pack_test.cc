#include <cstdint>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::RandomFloats;

constexpr float kUntouched = -7.0f;

class PackTest : public ::testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

INSTANTIATE_TEST_SUITE_P(Shapes, PackTest,
                         ::testing::Combine(::testing::Values(0, 1, 31, 32, 33, 70),
                                            ::testing::Values(0, 1, 16, 17, 64)));

TEST_P(PackTest, PutsForwardOutputsSideBySideAndPadsWithZeros) {
  const auto [n, k] = GetParam();
  const std::vector<float> w = RandomFloats(n * k, 1);
  std::vector<float> packed(PackedSize(n, k), kUntouched);
  PackForward(w.data(), n, k, packed.data(), 0, Panels(n));
  for (int64_t j = 0; j < Panels(n) * kPanel; ++j) {
    for (int64_t s = 0; s < k; ++s) {
      const float expected = j < n ? w[j * k + s] : 0.0f;
      ASSERT_EQ(packed[j / kPanel * k * kPanel + s * kPanel + j % kPanel], expected) << j << " " << s;
    }
  }
}

TEST_P(PackTest, PutsInputGradientsOutputsSideBySideAndPadsWithZeros) {
  const auto [k, n] = GetParam();
  const std::vector<float> w = RandomFloats(n * k, 2);
  std::vector<float> packed(PackedSize(k, n), kUntouched);
  PackTransposed(w.data(), n, k, packed.data(), 0, Panels(k));
  for (int64_t j = 0; j < Panels(k) * kPanel; ++j) {
    for (int64_t s = 0; s < n; ++s) {
      const float expected = j < k ? w[s * k + j] : 0.0f;
      ASSERT_EQ(packed[j / kPanel * n * kPanel + s * kPanel + j % kPanel], expected) << j << " " << s;
    }
  }
}

TEST_P(PackTest, WritesThePanelsAskedForAndNoOthers) {
  const auto [n, k] = GetParam();
  const std::vector<float> w = RandomFloats(n * k, 3);
  std::vector<float> whole(PackedSize(n, k)), parts(PackedSize(n, k), kUntouched);
  PackForward(w.data(), n, k, whole.data(), 0, Panels(n));
  for (int64_t p = 0; p < Panels(n); ++p) {
    for (int64_t i = p * k * kPanel; i < PackedSize(n, k); ++i) ASSERT_EQ(parts[i], kUntouched);
    PackForward(w.data(), n, k, parts.data(), p, p + 1);
  }
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace reprise::kernels
