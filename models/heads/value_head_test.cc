#include "models/heads/value_head.h"

#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::models {
namespace {

constexpr int64_t kSegment = 512;  // where the contract restarts a chain

// Returns numbers whose sum depends on the order of addition.
std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return numbers;
}

// Returns the sum of a_i b_i in the order of the order contract.
float Chain(const std::vector<float>& a, const std::vector<float>& b) {
  float total = 0;
  for (size_t begin = 0; begin < a.size(); begin += kSegment) {
    float open = 0;
    for (size_t i = begin; i < std::min(a.size(), begin + kSegment); ++i) open = std::fma(a[i], b[i], open);
    total = begin == 0 ? open : total + open;
  }
  return total;
}

struct Example {
  Example(int64_t width, int64_t rows, uint32_t seed)
      : weight(Numbers(static_cast<size_t>(width), seed)),
        bias(Numbers(1, seed + 1)),
        hidden_TD(Numbers(static_cast<size_t>(width * rows), seed + 2)),
        dvalue_T(Numbers(static_cast<size_t>(rows), seed + 3)) {
    head = {width, weight.data(), bias.data()};
  }
  std::vector<float> Row(int64_t row) const {
    const auto begin = hidden_TD.begin() + row * head.width;
    return {begin, begin + head.width};
  }
  std::vector<float> weight, bias, hidden_TD, dvalue_T;
  ValueHead head;
};

bool SameBits(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

RC_GTEST_PROP(ValueHeadTest, AValueIsOneChainOverItsOwnRow, ()) {
  const int64_t width = *rc::gen::inRange<int64_t>(1, 1200), rows = *rc::gen::inRange<int64_t>(1, 6);
  const Example example(width, rows, *rc::gen::arbitrary<uint32_t>());
  ValueBuffers buffers;
  ValueForward(example.head, example.hidden_TD.data(), {0, rows - 1}, &buffers);
  RC_ASSERT(SameBits(buffers.value_S[0], Chain(example.Row(0), example.weight) + example.bias[0]));
  RC_ASSERT(SameBits(buffers.value_S[1], Chain(example.Row(rows - 1), example.weight) + example.bias[0]));
}

struct Gradients {
  std::vector<float> weight, open_weight, bias = {0}, open_bias = {0}, dhidden_TD;
};

// Runs backward over all rows, divided into batches after each of `cuts`.
Gradients BackwardInBatches(const Example& example, const std::vector<int64_t>& cuts) {
  const int64_t rows = static_cast<int64_t>(example.dvalue_T.size());
  Gradients result;
  result.weight.resize(example.weight.size()), result.open_weight.resize(example.weight.size());
  result.dhidden_TD.assign(example.hidden_TD.size(), 0.25f);
  ValueHeadGradient gradient = {result.weight.data(), result.open_weight.data(), result.bias.data(),
                                result.open_bias.data(), 0};
  ValueBuffers buffers;
  int64_t begin = 0;
  for (const int64_t end : cuts) {
    std::vector<int64_t> row_S;
    for (int64_t row = begin; row < end; ++row) row_S.push_back(row);
    ValueForward(example.head, example.hidden_TD.data(), row_S, &buffers);
    ValueBackward(example.head, {example.dvalue_T.begin() + begin, example.dvalue_T.begin() + end}, row_S, end == rows,
                  &buffers, result.dhidden_TD.data(), &gradient);
    begin = end;
  }
  return result;
}

RC_GTEST_PROP(ValueHeadTest, BatchBoundariesChangeNoBitOfTheGradient, ()) {
  const int64_t width = *rc::gen::inRange<int64_t>(1, 40), rows = *rc::gen::inRange<int64_t>(1, 1300);
  const Example example(width, rows, *rc::gen::arbitrary<uint32_t>());
  const int64_t a = *rc::gen::inRange<int64_t>(0, rows), b = *rc::gen::inRange<int64_t>(a, rows);
  const Gradients whole = BackwardInBatches(example, {rows}), cut = BackwardInBatches(example, {a, b, rows});
  RC_ASSERT(whole.weight == cut.weight);
  RC_ASSERT(whole.bias == cut.bias);
  RC_ASSERT(whole.dhidden_TD == cut.dhidden_TD);
  std::vector<float> first_column;
  for (int64_t row = 0; row < rows; ++row) first_column.push_back(example.hidden_TD[row * width]);
  RC_ASSERT(SameBits(whole.weight[0], Chain(example.dvalue_T, first_column)));
  RC_ASSERT(SameBits(whole.bias[0], Chain(example.dvalue_T, std::vector<float>(example.dvalue_T.size(), 1.0f))));
}

TEST(ValueHeadTest, TheGradientOfTheHiddenStatesIsAddedToTheirRows) {
  const Example example(3, 4, 9);
  const Gradients gradients = BackwardInBatches(example, {4});
  for (size_t row = 0; row < 4; ++row) {
    for (size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(gradients.dhidden_TD[row * 3 + d], 0.25f + example.dvalue_T[row] * example.weight[d]);
    }
  }
}

TEST(ValueHeadTest, AShardWithoutRowsHasAGradientOfZero) {
  const Example example(5, 0, 3);
  Gradients gradients = BackwardInBatches(example, {0});
  EXPECT_EQ(gradients.weight, std::vector<float>(5, 0.0f));
  EXPECT_EQ(gradients.bias, std::vector<float>(1, 0.0f));
}

}  // namespace
}  // namespace reprise::models
