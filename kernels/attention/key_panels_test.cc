#include <vector>

#include "gtest/gtest.h"
#include "kernels/attention/attention.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

TEST(PackKeysTest, PanelsHoldThirtyTwoKeysPerElement) {
  EXPECT_EQ(KeyPanelFloats(0, 16), 0);
  EXPECT_EQ(KeyPanelFloats(1, 16), 32 * 16);
  EXPECT_EQ(KeyPanelFloats(33, 6), 2 * 32 * 6);
}

TEST(PackKeysTest, AnyPieceIsPackedAsDocumentedAndNothingElseIsWritten) {
  const auto property = [] {
    const int64_t D = *rc::gen::inRange(1, 40);
    const int64_t first = *rc::gen::inRange(0, 70);
    const int64_t rows = *rc::gen::inRange(0, 70);
    const int64_t stride = D + *rc::gen::inRange(0, 5);
    std::vector<float> k(rows * stride);
    for (size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i + 1);
    std::vector<float> panels(KeyPanelFloats(first + rows, D), -1.0f);
    std::vector<float> expected = panels;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t j = first + r;
      for (int64_t d = 0; d < D; ++d) expected[(j / 32) * D * 32 + d * 32 + j % 32] = k[r * stride + d];
    }
    PackKeys(first, {k.data(), rows, D, stride}, panels.data());
    RC_ASSERT(panels == expected);
  };
  ::reprise::testing::ForEachIsa([&] { EXPECT_TRUE(rc::check(property)); });
}

}  // namespace
}  // namespace reprise::kernels
