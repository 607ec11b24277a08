#include "kernels/rows/mix_rows.h"

#include <cmath>
#include <vector>

#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Problem {
  int64_t rows, n;
  std::vector<float> a, b, w, dy;
  Problem(int64_t rows_of, int64_t width)
      : rows(rows_of),
        n(width),
        a(RandomNormals(rows * n, 1)),
        b(RandomNormals(rows * n, 2)),
        w(RandomNormals(rows, 3)),
        dy(RandomNormals(rows * n, 4)) {
    if (rows > 1) w[1] = 0;
  }
  ConstRows View(const std::vector<float>& floats) const { return {floats.data(), rows, n}; }
};

struct Result {
  std::vector<float> y, da, db, dw;
};

Result Reference(const Problem& p) {
  Result result;
  for (int64_t r = 0; r < p.rows; ++r) {
    Lanes sum;
    for (int64_t j = 0; j < p.n; ++j) {
      const size_t at = static_cast<size_t>(r * p.n + j);
      const float difference = p.b[at] - p.a[at], w = p.w[r];
      result.y.push_back(std::fma(w, difference, p.a[at]));
      result.db.push_back(w * p.dy[at]);
      result.da.push_back(p.dy[at] - result.db.back());
      sum.MulAdd(j, p.dy[at], difference);
    }
    result.dw.push_back(sum.Sum());
  }
  return result;
}

Result Kernel(const Problem& p) {
  const size_t size = static_cast<size_t>(p.rows * p.n);
  Result result{std::vector<float>(size), std::vector<float>(size), std::vector<float>(size),
                std::vector<float>(static_cast<size_t>(p.rows))};
  MixRows(p.View(p.a), p.View(p.b), p.w.data(), {result.y.data(), p.rows, p.n});
  MixRowsBackward(p.View(p.a), p.View(p.b), p.w.data(), p.View(p.dy), {result.da.data(), p.rows, p.n},
                  {result.db.data(), p.rows, p.n}, result.dw.data());
  return result;
}

TEST(MixRowsTest, EqualsTheReferenceBitForBit) {
  ForEachIsa([] {
    for (const int64_t n : {1, 7, 16, 17, 63, 64, 65, 130, 1000, 2048}) {
      for (const int64_t rows : {0, 1, 3}) {
        const Problem problem(rows, n);
        const Result expected = Reference(problem), result = Kernel(problem);
        EXPECT_TRUE(BitEqual(result.y, expected.y)) << n;
        EXPECT_TRUE(BitEqual(result.da, expected.da)) << n;
        EXPECT_TRUE(BitEqual(result.db, expected.db)) << n;
        EXPECT_TRUE(BitEqual(result.dw, expected.dw)) << n;
        if (rows == 0) continue;
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(result.y, n - 1), expected.y));
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(result.dw, 0), expected.dw));
      }
    }
  });
}

TEST(MixRowsTest, AWeightOfZeroKeepsTheFirstRow) {
  const Problem problem(3, 100);
  const Result result = Kernel(problem);
  for (size_t j = 100; j < 200; ++j) EXPECT_EQ(result.y[j], problem.a[j]);
}

TEST(MixRowsTest, GradientAgreesWithDifferencesInDouble) {
  const Problem p(2, 37);
  const Result result = Kernel(p);
  const auto loss = [&](const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& w) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double weight = w[i / 37];
      sum += static_cast<double>(p.dy[i]) * ((1 - weight) * a[i] + weight * b[i]);
    }
    return sum;
  };
  const std::vector<double> a(p.a.begin(), p.a.end()), b(p.b.begin(), p.b.end()), w(p.w.begin(), p.w.end());
  const auto difference = [&](std::vector<double> x, size_t at, const auto& loss_of) {
    x[at] += 1e-3;
    const double above = loss_of(x);
    x[at] -= 2e-3;
    return (above - loss_of(x)) / 2e-3;  // exact but for rounding: the loss is linear in each
  };
  for (size_t i = 0; i < a.size(); i += 5) {
    EXPECT_NEAR(result.da[i], difference(a, i, [&](const auto& x) { return loss(x, b, w); }), 1e-5);
    EXPECT_NEAR(result.db[i], difference(b, i, [&](const auto& x) { return loss(a, x, w); }), 1e-5);
  }
  for (size_t r = 0; r < 2; ++r) {
    EXPECT_NEAR(result.dw[r], difference(w, r, [&](const auto& x) { return loss(a, b, x); }), 1e-5);
  }
}

}  // namespace
}  // namespace reprise::kernels
