#include "kernels/rows/mean_rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

// Rows of `n` floats, n + 3 apart.
struct Case {
  int64_t rows, n, ld;
  std::vector<float> x;
  Case(int64_t r, int64_t width) : rows(r), n(width), ld(width + 3), x(RandomNormals(r * ld, 1)) {}

  ConstRows view() const { return {x.data(), rows, n, ld}; }
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t rows : {1, 2, 3, 7, 600}) {
    for (int64_t n : {0, 1, 7, 8, 15, 16, 17, 31, 64, 200}) cases.emplace_back(rows, n);
  }
  return cases;
}

std::vector<float> ReferenceMean(const Case& c) {
  std::vector<float> y;
  for (int64_t j = 0; j < c.n; ++j) {
    float sum = 0;
    for (int64_t t = 0; t < c.rows; ++t) sum += c.x[t * c.ld + j];
    y.push_back(sum / static_cast<float>(c.rows));
  }
  return y;
}

TEST(MeanOfRowsTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const Case& c : Cases()) {
    std::vector<float> expected = ReferenceMean(c);
    expected.push_back(5.0f);  // a write beyond the row would change it
    ForEachIsa([&] {
      std::vector<float> y(expected.size(), 5.0f);
      MeanOfRows(c.view(), y.data());
      EXPECT_TRUE(BitEqual(expected, y)) << c.rows << " x " << c.n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), y));
    });
  }
}

TEST(MeanOfRowsTest, TheOrderOfRowsMatters) {
  const Case c(600, 16);
  Case reversed = c;
  for (int64_t t = 0; t < c.rows; ++t) {
    std::copy_n(c.x.begin() + t * c.ld, c.ld, reversed.x.begin() + (c.rows - 1 - t) * c.ld);
  }
  std::vector<float> y(16), y_reversed(16);
  MeanOfRows(c.view(), y.data());
  MeanOfRows(reversed.view(), y_reversed.data());
  EXPECT_FALSE(BitEqual(y, y_reversed)) << "or the comparison with the reference proves nothing about the order";
}

TEST(MeanOfRowsTest, IsCloseToTheExactMean) {
  const Case c(600, 200);
  std::vector<float> y(200);
  MeanOfRows(c.view(), y.data());
  std::vector<double> exact(200);
  for (int64_t j = 0; j < c.n; ++j) {
    for (int64_t t = 0; t < c.rows; ++t) exact[j] += c.x[t * c.ld + j];
    exact[j] /= static_cast<double>(c.rows);
  }
  EXPECT_LT(LargestError(exact, y), 2e-7);
}

TEST(MeanOfRowsTest, PropagatesNanAndHasNoNegativeZero) {
  const std::vector<float> x = {-0.0f, NAN, 1.0f};
  ForEachIsa([&] {
    std::vector<float> y(3);
    MeanOfRows({x.data(), 1, 3}, y.data());
    EXPECT_TRUE(BitEqual({0.0f}, {y.data(), 1}));
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], 1.0f);
  });
}

TEST(MeanOfRowsDeathTest, NoRowsHaveNoMean) { EXPECT_DEATH(MeanOfRows({nullptr, 0, 3}, nullptr), "x.rows"); }

TEST(MeanOfRowsBackwardTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const Case& c : Cases()) {
    const std::vector<float> dy = RandomNormals(c.n, 2);
    std::vector<float> expected(static_cast<size_t>(c.rows * c.ld), 5.0f);
    for (int64_t t = 0; t < c.rows; ++t) {
      for (int64_t j = 0; j < c.n; ++j) {
        expected[t * c.ld + j] = dy[j] / static_cast<float>(c.rows);
      }
    }
    ForEachIsa([&] {
      std::vector<float> dx(expected.size(), 5.0f);
      MeanOfRowsBackward(dy.data(), {dx.data(), c.rows, c.n, c.ld});
      EXPECT_TRUE(BitEqual(expected, dx)) << c.rows << " x " << c.n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), dx));
    });
  }
  MeanOfRowsBackward(nullptr, {nullptr, 0, 3});
}

// The mean is linear, so that its difference over any step is its gradient.
TEST(MeanOfRowsBackwardTest, IsTheGradientOfTheMean) {
  const Case c(5, 9);
  const std::vector<float> dy = RandomNormals(c.n, 2);
  std::vector<float> dx(static_cast<size_t>(c.rows * c.ld));
  MeanOfRowsBackward(dy.data(), {dx.data(), c.rows, c.n, c.ld});
  const auto loss = [&](const Case& at) {
    std::vector<float> y(static_cast<size_t>(at.n));
    MeanOfRows(at.view(), y.data());
    double sum = 0;
    for (size_t j = 0; j < y.size(); ++j) sum += static_cast<double>(y[j]) * dy[j];
    return sum;
  };
  for (int64_t t = 0; t < c.rows; ++t) {
    for (int64_t j = 0; j < c.n; ++j) {
      const size_t at = static_cast<size_t>(t * c.ld + j);
      Case moved = c;
      moved.x[at] += 1.0f;
      EXPECT_NEAR(dx[at], loss(moved) - loss(c), 1e-6);
    }
  }
}

}  // namespace
}  // namespace reprise::kernels
