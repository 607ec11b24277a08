#include "core/tensor/tensor.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(TensorTest, IsZeroAndAlignedWhenMade) {
  Tensor tensor("w", DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % 64, 0u);
  for (float x : tensor.data<float>()) EXPECT_EQ(x, 0.0f);
}

TEST(TensorTest, ViewSharesTheBytes) {
  Tensor tensor("w", DType::kF32, {2});
  const TensorView view = tensor.view();
  tensor.mutable_data<float>()[1] = 7.0f;
  EXPECT_EQ(view.data<float>()[1], 7.0f);
}

TEST(TensorTest, AScalarHasOneElementAndAnEmptyShapeDimensionNone) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({4, 0, 2}), 0);
  EXPECT_EQ(Tensor("w", DType::kI64, {0}).bytes().size(), 0u);
  EXPECT_EQ(ToString({4, 2}), "[4, 2]");
}

TEST(TensorDeathTest, RefusesAnElementTypeOfAnotherSize) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Tensor tensor("w", DType::kBF16, {2});
  EXPECT_DEATH(tensor.data<float>(), "CHECK failed");
}

}  // namespace
}  // namespace reprise
