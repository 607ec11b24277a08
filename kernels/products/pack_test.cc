#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/tensor/tensor.h"
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

TEST_P(PackTest, WritesTheRequestedPanelsAndNoOthers) {
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

// Packing in any blocks of whole panels gives the whole matrix, through the caches and past them.
template <typename Element>
void ExpectBlocksMakeTheMatrix(int64_t n, int64_t k, int64_t block, bool past_caches) {
  const std::vector<float> w = RandomFloats(n * k, 4);
  const auto elements = [](int64_t outputs, int64_t contraction) {
    return Tensor("", DType::kF32, {PackedSize(outputs, contraction) / kPanel * kStepElements<Element>});
  };
  const auto at = [](Tensor& tensor) { return reinterpret_cast<Element*>(tensor.mutable_bytes().data()); };
  Tensor whole = elements(n, k), whole_transposed = elements(k, n);
  PackForward(w.data(), n, k, at(whole), 0, Panels(n));
  PackTransposed(w.data(), n, k, at(whole_transposed), 0, Panels(k));
  for (const bool with_transposed : {false, true}) {
    Tensor packed = elements(n, k), transposed = elements(k, n);
    for (int64_t row = 0; row < n; row += block) {
      PackRows(w.data() + row * k, std::min(block, n - row), k, row, n, at(packed),
               with_transposed ? at(transposed) : nullptr, past_caches);
    }
    EXPECT_EQ(packed.bytes(), whole.bytes());
    EXPECT_TRUE(!with_transposed || transposed.bytes() == whole_transposed.bytes());
  }
}

TEST_P(PackTest, BlocksOfRowsGiveTheWholeMatrix) {
  const auto [n, k] = GetParam();
  for (const int64_t block : {32, 64}) {
    for (const bool past_caches : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "blocks of " << block << ", past the caches: " << past_caches);
      ExpectBlocksMakeTheMatrix<float>(n, k, block, past_caches);
      ExpectBlocksMakeTheMatrix<Bf16Pair>(n, k, block, past_caches);
    }
  }
}

template <typename Element>
void ExpectReplacedRows(int64_t n, int64_t k, int64_t first, int64_t rows) {
  const auto pack = [&](const std::vector<float>& w, Tensor* packed, Tensor* transposed) {
    *packed = Tensor("", DType::kF32, {PackedSize(n, k)});
    *transposed = Tensor("", DType::kF32, {PackedSize(k, n)});
    PackForward(w.data(), n, k, reinterpret_cast<Element*>(packed->mutable_data<float>().data()), 0, Panels(n));
    PackTransposed(w.data(), n, k, reinterpret_cast<Element*>(transposed->mutable_data<float>().data()), 0, Panels(k));
  };
  std::vector<float> w = testing::RandomFloats(n * k, 1);
  Tensor packed, transposed, expected, expected_transposed;
  pack(w, &packed, &transposed);
  const std::vector<float> others = testing::RandomFloats(rows * k, 2);
  ReplaceRows(others.data(), rows, k, first, n, reinterpret_cast<Element*>(packed.mutable_data<float>().data()),
              reinterpret_cast<Element*>(transposed.mutable_data<float>().data()));
  std::copy(others.begin(), others.end(), w.begin() + first * k);
  pack(w, &expected, &expected_transposed);
  EXPECT_EQ(packed.bytes(), expected.bytes());
  EXPECT_EQ(transposed.bytes(), expected_transposed.bytes());
}

TEST(ReplaceRowsTest, GivesTheBytesOfTheMatrixWithTheseRows) {
  for (const auto& [n, k, first, rows] :
       std::vector<std::array<int64_t, 4>>{{40, 7, 32, 8}, {41, 33, 12, 29}, {5, 64, 4, 1}}) {
    ExpectReplacedRows<float>(n, k, first, rows);
    ExpectReplacedRows<Bf16Pair>(n, k, first, rows);
  }
}

}  // namespace
}  // namespace reprise::kernels
