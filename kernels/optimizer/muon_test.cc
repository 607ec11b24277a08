#include "kernels/optimizer/muon.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/optimizer/gram_schmidt.h"
#include "kernels/optimizer/orthogonalize.h"
#include "kernels/products/reference.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;
using Doubles = std::vector<double>;

constexpr int64_t kSizes[] = {0, 1, 7, 8, 16, 17, 31, 64, 100, 1000};

TEST(GrokfastTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const int64_t n : kSizes) {
    for (const bool amplifies_fast : {false, true}) {
      std::vector<float> mean(static_cast<size_t>(n)), filtered(mean);
      for (int64_t t = 1; t <= 3; ++t) {
        const GrokfastFilter filter = MakeGrokfastFilter(0.98, 2.0, true, amplifies_fast, t, 0.5);
        EXPECT_EQ(filter.starts, t == 1);
        const std::vector<float> gradient = RandomNormals(n, 10 + t);
        const std::vector<float> before = mean;
        for (size_t i = 0; i < mean.size(); ++i) {
          const float g = gradient[i] * filter.gradient_scale;
          mean[i] = t == 1 ? g : std::fma(filter.one_minus_alpha, g, filter.alpha * mean[i]);
          filtered[i] = std::fma(filter.lambda, amplifies_fast ? g - mean[i] : mean[i], g);
        }
        ForEachIsa([&] {
          std::vector<float> own_mean = before, own(mean.size());
          const int64_t cut = n / 3;  // in two parts: no element depends on its neighbours
          FilterGradient(cut, filter, gradient.data(), own_mean.data(), own.data());
          FilterGradient(n - cut, filter, gradient.data() + cut, own_mean.data() + cut, own.data() + cut);
          EXPECT_TRUE(BitEqual(mean, own_mean)) << n;
          EXPECT_TRUE(BitEqual(filtered, own)) << n;
          if (n > 0) {
            EXPECT_FALSE(BitEqual(WithOneBitFlipped(filtered, n - 1), own));
          }
        });
      }
    }
  }
}

// Golden numbers: alpha 0.98, lambda 2, gradients 1 and 1.
TEST(GrokfastTest, AmplifiesTheMeanThatStartsAtTheFirstGradientOrAtZero) {
  const float one = 1;
  for (const bool starts_at_gradient : {true, false}) {
    float mean = 0, first = 0, second = 0;
    FilterGradient(1, MakeGrokfastFilter(0.98, 2, starts_at_gradient, false, 1, 1), &one, &mean, &first);
    FilterGradient(1, MakeGrokfastFilter(0.98, 2, starts_at_gradient, false, 2, 1), &one, &mean, &second);
    EXPECT_NEAR(first, starts_at_gradient ? 3 : 1.04, 1e-6);
    EXPECT_NEAR(second, starts_at_gradient ? 3 : 1.0792, 1e-6);
  }
}

// The first published form had the sign turned round: it amplifies what is new in a gradient. It remains as an option.
TEST(GrokfastTest, ASteadyGradientIsAmplifiedUnlessTheFastPartIs) {
  float slow_mean = 0, fast_mean = 0, slow = 0, fast = 0;
  const float one = 1;
  for (int64_t t = 1; t <= 2000; ++t) {
    FilterGradient(1, MakeGrokfastFilter(0.98, 2, false, false, t, 1), &one, &slow_mean, &slow);
    FilterGradient(1, MakeGrokfastFilter(0.98, 2, false, true, t, 1), &one, &fast_mean, &fast);
  }
  EXPECT_NEAR(slow, 3, 1e-4);
  EXPECT_NEAR(fast, 1, 1e-4);
}

TEST(MuonTest, MomentumCombinationsAndStepsEqualTheScalarReferenceOnEveryInstructionSet) {
  for (const int64_t n : kSizes) {
    const std::vector<float> g = RandomNormals(n, 1), buffer = RandomNormals(n, 2), weight = RandomNormals(n, 3);
    for (const bool nesterov : {false, true}) {
      std::vector<float> expected_buffer = buffer, direction(g), combined = weight, moved = weight;
      for (size_t i = 0; i < g.size(); ++i) {
        expected_buffer[i] = std::fma(0.95f, buffer[i], g[i]);
        direction[i] = nesterov ? std::fma(0.95f, expected_buffer[i], g[i]) : expected_buffer[i];
        combined[i] = std::fma(3.0f, g[i], -0.7f * weight[i]);
        moved[i] = std::fma(-0.01f, g[i], weight[i] * 0.999f);
      }
      ForEachIsa([&] {
        std::vector<float> own_buffer = buffer, own = g, own_combined = weight, own_moved = weight;
        AddMomentum(n, 0.95f, nesterov, own.data(), own_buffer.data(), own.data());
        Combine(n, 3.0f, g.data(), -0.7f, own_combined.data());
        EXPECT_TRUE(TakeStep(n, 0.01f, 0.999f, g.data(), own_moved.data()));
        EXPECT_TRUE(BitEqual(expected_buffer, own_buffer)) << n;
        EXPECT_TRUE(BitEqual(direction, own)) << n;
        EXPECT_TRUE(BitEqual(combined, own_combined)) << n;
        EXPECT_TRUE(BitEqual(moved, own_moved)) << n;
      });
    }
  }
}

TEST(MuonTest, AStepOutOfBoundsIsReportedInEveryLane) {
  constexpr int64_t kCount = 37;
  for (int64_t i = 0; i < kCount; ++i) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 3e38f, -std::numeric_limits<float>::infinity()}) {
      std::vector<float> weight(kCount, 1.0f), direction(kCount, 1.0f);
      direction[i] = bad;
      EXPECT_FALSE(TakeStep(kCount, 0.5f, 1.0f, direction.data(), weight.data())) << i;
    }
  }
}

std::vector<float> NewtonSchulzOf(std::vector<float> x, int64_t rows, int64_t width, int64_t steps = 5) {
  NewtonSchulz(steps, {x.data(), rows, width});
  return x;
}

void ExpectNear(const std::vector<double>& expected, const std::vector<float>& actual, double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], actual[i], tolerance) << i;
}

TEST(NewtonSchulzTest, HasTheGoldenNumbers) {
  ExpectNear({-.680661, .825540, .741295, .259440}, NewtonSchulzOf({1, 2, 3, 4}, 2, 2), 2e-6);
  ExpectNear({1.108111, 0, 0, 1.108111}, NewtonSchulzOf({1, 0, 0, 1}, 2, 2), 2e-6);
  ExpectNear({-.568290, .057742, .683774, .563355, .405613, .247871}, NewtonSchulzOf({1, 2, 3, 4, 5, 6}, 2, 3), 2e-6);
  ExpectNear({.311456, .622912}, NewtonSchulzOf({1, 2}, 2, 1), 2e-6);
}

TEST(NewtonSchulzTest, OnlyANormBelowItsFloorIsNotBroughtToOne) {
  ExpectNear({-.680661, .825540, .741295, .259440}, NewtonSchulzOf({1e-6f, 2e-6f, 3e-6f, 4e-6f}, 2, 2), 2e-6);
  ExpectNear({.01}, NewtonSchulzOf({1e-9f}, 1, 1, /*steps=*/0), 1e-8);
}

TEST(NewtonSchulzTest, AZeroMatrixStaysZero) {
  const std::vector<float> zeros(12);
  EXPECT_EQ(NewtonSchulzOf(zeros, 3, 4), zeros);
  EXPECT_EQ(NewtonSchulzOf(zeros, 4, 3), zeros);
  std::vector<float> exact = zeros;
  Orthogonalize({exact.data(), 3, 4});
  EXPECT_EQ(exact, zeros);
}

// The iteration of orthogonalize.h in the order of products.h, in scalar code.
std::vector<float> ReferenceIteration(std::vector<float> x, int64_t rows, int64_t width, float scale, int64_t steps) {
  for (float& value : x) value *= scale;
  for (int64_t step = 0; step < steps; ++step) {
    const std::vector<float> a = ReferenceForward(rows, rows, width, x.data(), x.data());
    std::vector<float> b = ReferenceForward(rows, rows, rows, a.data(), a.data());
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::fma(-4.7750f, a[i], 2.0315f * b[i]);
    const std::vector<float> bx = ReferenceInput(rows, rows, width, b.data(), x.data());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::fma(1.0f, bx[i], 3.4445f * x[i]);
  }
  return x;
}

std::vector<float> Transposed(const std::vector<float>& x, int64_t rows, int64_t width) {
  std::vector<float> transposed(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) {
      transposed[c * rows + r] = x[r * width + c];
    }
  }
  return transposed;
}

TEST(NewtonSchulzTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  struct Shape {
    int64_t rows, width, steps;
  };
  for (const auto& [rows, width, steps] : {Shape{1, 1, 5},
                                           {1, 9, 5},
                                           {3, 5, 5},
                                           {4, 5, 5},
                                           {16, 16, 5},
                                           {33, 70, 5},
                                           {8, 600, 5},
                                           {100, 130, 2},
                                           {65, 1024, 1},
                                           {130, 1030, 1}}) {
    const std::vector<float> x = RandomNormals(rows * width, static_cast<uint64_t>(rows), 0.1f);
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
    const float near = static_cast<float>(1 / std::sqrt(squares));
    // The norm's order is tested in kernels/sums: here its last bit may be another one.
    std::vector<std::vector<float>> references;
    for (const float scale : {std::nextafter(near, 0.0f), near, std::nextafter(near, 2 * near)}) {
      references.push_back(ReferenceIteration(x, rows, width, scale, steps));
    }
    const std::vector<float> transposed = Transposed(x, rows, width);
    ForEachIsa([&] {
      const std::vector<float> own = NewtonSchulzOf(x, rows, width, steps);
      const auto equals = [&](const std::vector<float>& reference) { return BitEqual(reference, own); };
      EXPECT_TRUE(std::any_of(references.begin(), references.end(), equals)) << rows << " x " << width;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(own, 0), own));
      // A tall matrix is the transpose of a wide one.
      if (rows == width) return;
      EXPECT_EQ(Transposed(NewtonSchulzOf(transposed, width, rows, steps), width, rows), own);
    });
  }
}

// x x^T where x has more columns, else x^T x.
Doubles SmallGram(const std::vector<float>& x, int64_t rows, int64_t width) {
  const bool is_tall = rows > width;
  const int64_t small = std::min(rows, width), large = std::max(rows, width);
  const auto at = [&](int64_t s, int64_t l) { return static_cast<double>(x[is_tall ? l * width + s : s * width + l]); };
  Doubles gram(static_cast<size_t>(small * small));
  for (int64_t i = 0; i < small; ++i) {
    for (int64_t j = 0; j < small; ++j) {
      for (int64_t l = 0; l < large; ++l) gram[i * small + j] += at(i, l) * at(j, l);
    }
  }
  return gram;
}

RC_GTEST_PROP(OrthogonalizeTest, MakesTheShorterSideOrthonormal, ()) {
  const int64_t rows = *rc::gen::inRange<int64_t>(1, 24), width = *rc::gen::inRange<int64_t>(1, 24);
  const float scale = *rc::gen::element(1e-30f, 1.0f, 1e20f);
  std::vector<float> x = RandomNormals(rows * width, *rc::gen::arbitrary<uint16_t>(), scale);
  const std::vector<float> before = x;
  Orthogonalize({x.data(), rows, width});
  const Doubles gram = SmallGram(x, rows, width);
  const int64_t small = std::min(rows, width);
  for (int64_t i = 0; i < small; ++i) {
    for (int64_t j = 0; j < small; ++j) {
      RC_ASSERT(std::fabs(gram[i * small + j] - (i == j ? 1 : 0)) < 1e-5);
    }
  }
  // U V^T is the orthogonal matrix with the largest inner product with U S V^T, the sum of the singular values: more
  // than the Frobenius norm, and more than that of any other one that is orthogonal.
  double inner = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(before[i]) / static_cast<double>(scale);
    inner += value * static_cast<double>(x[i]);
    squares += value * value;
  }
  RC_ASSERT(inner > std::sqrt(squares) * (1 - 1e-5));
}

TEST(OrthogonalizeTest, HasTheNumbersOfAnExactDecomposition) {
  // [[1, 2], [3, 4]]: U V^T is the rotation or reflection nearest to it, [[-1, 3], [3, 1]] / sqrt(34) * ... with a
  // determinant of -1: [[-c, s], [s, c]] with tan = (2 + 3) / (4 - 1).
  const double c = 3 / std::sqrt(34.0), s = 5 / std::sqrt(34.0);
  std::vector<float> x = {1, 2, 3, 4};
  Orthogonalize({x.data(), 2, 2});
  ExpectNear({-c, s, s, c}, x, 1e-6);
  std::vector<float> row = {3, 0, -4};
  Orthogonalize({row.data(), 1, 3});
  ExpectNear({.6, 0, -.8}, row, 1e-7);
  // Of rank one: the directions without a singular value are left out.
  std::vector<float> deficient = {1, 2, 2, 4, 3, 6};
  Orthogonalize({deficient.data(), 3, 2});
  const double norm = std::sqrt(70.0);
  ExpectNear({1 / norm, 2 / norm, 2 / norm, 4 / norm, 3 / norm, 6 / norm}, deficient, 1e-6);
  // Of rank two, with columns that rounding leaves near 0: two singular values become 1.
  std::vector<float> rounded = {1, 2, 3, 4, 7, -1, 5, 2, 8, 1, 8, 6, -6, 3, -2, 2};
  Orthogonalize({rounded.data(), 4, 4});
  double squares = 0;
  for (const float value : rounded) squares += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(squares, 2, 1e-5);
}

// An expert's gradient has the rank of its number of tokens; what its rounding to floats adds is no direction of it.
TEST(OrthogonalizeTest, LeavesOutTheDirectionsThatOnlyTheRoundingOfFloatsHas) {
  for (const auto& [rows, width, tokens] : {std::tuple{12, 20, 3}, {20, 12, 1}, {40, 40, 7}, {1, 30, 1}}) {
    SCOPED_TRACE(tokens);
    const std::vector<float> error_TR = RandomNormals(tokens * rows, 3), input_TC = RandomNormals(tokens * width, 4);
    std::vector<float> x(static_cast<size_t>(rows * width));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        float& sum = x[r * width + c];
        for (int64_t t = 0; t < tokens; ++t) {
          sum = std::fma(error_TR[t * rows + r], input_TC[t * width + c], sum);
        }
      }
    }
    Orthogonalize({x.data(), rows, width});
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_NEAR(squares, tokens, 1e-5);
    // A direction at right angles to the inputs of all tokens: the update is 0 along it.
    std::vector<double> basis_KC(input_TC.begin(), input_TC.end());
    for (const float value : RandomNormals(width, 5)) basis_KC.push_back(static_cast<double>(value));
    GramSchmidt({basis_KC.data(), tokens + 1, width});
    for (int64_t r = 0; r < rows; ++r) {
      double along = 0;
      for (int64_t c = 0; c < width; ++c) {
        along += static_cast<double>(x[r * width + c]) * basis_KC[tokens * width + c];
      }
      EXPECT_NEAR(along, 0, 1e-6);
    }
  }
}

TEST(OrthogonalizeTest, NewtonSchulzBringsSingularValuesNearOne) {
  for (const auto& [rows, width] : {std::pair{20, 20}, {8, 40}, {40, 8}}) {
    const std::vector<float> x = NewtonSchulzOf(RandomNormals(rows * width, 7), rows, width);
    std::vector<float> exact = x;
    Orthogonalize({exact.data(), rows, width});
    // The inner product of x and its U V^T is the sum of the singular values of x.
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(exact[i]);
    const double mean = sum / std::min(rows, width);
    EXPECT_GT(mean, 0.68);
    EXPECT_LT(mean, 1.2);
  }
}

}  // namespace
}  // namespace reprise::kernels
