#include "models/heads/initial_weights.h"

#include <cmath>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

constexpr double kGain = 1.4142135623730951;

std::vector<float> Draw(InitialWeights kind, int64_t outputs, int64_t inputs, uint64_t seed = 5) {
  std::vector<float> parameters(static_cast<size_t>(outputs * inputs) + 3, NAN);
  DrawInitialWeights(seed, kind, kGain, {.spec = 2, .offset = 3, .outputs = outputs, .inputs = inputs},
                     absl::MakeSpan(parameters));
  return {parameters.begin() + 3, parameters.end()};
}

class OrthogonalWeightsTest : public ::testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

TEST_P(OrthogonalWeightsTest, TheShorterSidesVectorsAreOrthogonalWithTheLengthOfTheGain) {
  const auto [outputs, inputs] = GetParam();
  const std::vector<float> w = Draw(InitialWeights::kOrthogonal, outputs, inputs);
  const bool is_wide = outputs <= inputs;
  const int64_t count = is_wide ? outputs : inputs, n = is_wide ? inputs : outputs;
  const auto at = [&](int64_t r, int64_t i) { return static_cast<double>(w[is_wide ? r * n + i : i * count + r]); };
  for (int64_t a = 0; a < count; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (int64_t i = 0; i < n; ++i) dot += at(a, i) * at(b, i);
      ASSERT_NEAR(dot, a == b ? 2.0 : 0.0, 2e-7) << a << " " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, OrthogonalWeightsTest,
                         ::testing::Values(std::tuple(1, 1), std::tuple(1, 128), std::tuple(8, 128),
                                           std::tuple(256, 35), std::tuple(256, 256), std::tuple(512, 128)));

// Of [[1, 1], [1, 0]] the Gram-Schmidt process makes [[1, 1], [1, -1]] / sqrt(2): each row keeps a positive part of the
// one that it comes from. So do the orthogonal weights of the normal ones, which are the same draws.
TEST(InitialWeightsTest, EachOrthogonalRowHasAPositivePartOfItsNormalOneAndNoneOfTheLaterOnes) {
  const std::vector<float> q = Draw(InitialWeights::kOrthogonal, 3, 4), a = Draw(InitialWeights::kNormal, 3, 4);
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t later = r; later < 3; ++later) {
      double dot = 0;
      for (int64_t i = 0; i < 4; ++i) dot += static_cast<double>(q[later * 4 + i]) * static_cast<double>(a[r * 4 + i]);
      if (later == r) {
        EXPECT_GT(dot, 0.1);
      } else {
        EXPECT_NEAR(dot, 0, 1e-6);
      }
    }
  }
}

TEST(InitialWeightsTest, AreAPureFunctionOfSeedAndPlace) {
  for (const InitialWeights kind : {InitialWeights::kNormal, InitialWeights::kOrthogonal}) {
    EXPECT_EQ(Draw(kind, 5, 7), Draw(kind, 5, 7));
    EXPECT_NE(Draw(kind, 5, 7), Draw(kind, 5, 7, /*seed=*/6));
  }
}

// Golden: these bits are part of the numeric contract.
TEST(InitialWeightsTest, HaveTheirBits) {
  EXPECT_EQ(Draw(InitialWeights::kOrthogonal, 2, 2),
            (std::vector<float>{-0x1.45fb02p+0f, -0x1.3b0404p-1f, 0x1.3b0404p-1f, -0x1.45fb02p+0f}));
}

}  // namespace
}  // namespace reprise::models
