#include "kernels/rows/cosine_rows.h"

#include <algorithm>
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

struct Result {
  std::vector<float> cosine, norms, da, db;
};

Result Kernel(int64_t n, const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& d) {
  const int64_t rows = static_cast<int64_t>(d.size());
  Result r{std::vector<float>(d.size()), std::vector<float>(2 * d.size()), std::vector<float>(a.size()),
           std::vector<float>(a.size())};
  const ConstRows a_rows = {a.data(), rows, n}, b_rows = {b.data(), rows, n};
  CosineRows(a_rows, b_rows, r.cosine.data(), r.norms.data());
  CosineRowsBackward(a_rows, b_rows, r.cosine.data(), r.norms.data(), d.data(), {r.da.data(), rows, n},
                     {r.db.data(), rows, n});
  return r;
}

Result Reference(int64_t n, const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& d) {
  Result r;
  for (int64_t row = 0; row < static_cast<int64_t>(d.size()); ++row) {
    Lanes aa, bb, ab;
    for (int64_t j = 0; j < n; ++j) {
      const float x = a[row * n + j], y = b[row * n + j];
      aa.MulAdd(j, x, x), bb.MulAdd(j, y, y), ab.MulAdd(j, x, y);
    }
    const float n_a = std::max(std::sqrt(aa.Sum()), 1e-8f), n_b = std::max(std::sqrt(bb.Sum()), 1e-8f);
    const float cosine = ab.Sum() / (n_a * n_b), u = d[row] / (n_a * n_b);
    r.cosine.push_back(cosine);
    r.norms.insert(r.norms.end(), {n_a, n_b});
    for (int64_t j = 0; j < n; ++j) {
      const float x = a[row * n + j], y = b[row * n + j];
      r.da.push_back(std::fma(u, y, -(d[row] * cosine / (n_a * n_a) * x)));
      r.db.push_back(std::fma(u, x, -(d[row] * cosine / (n_b * n_b) * y)));
    }
  }
  return r;
}

TEST(CosineRowsTest, EqualsTheReferenceBitForBit) {
  ForEachIsa([] {
    for (const int64_t n : {1, 7, 16, 63, 64, 65, 1000}) {
      const std::vector<float> a = RandomNormals(3 * n, 1), b = RandomNormals(3 * n, 2), d = RandomNormals(3, 3);
      const Result expected = Reference(n, a, b, d), r = Kernel(n, a, b, d);
      EXPECT_TRUE(BitEqual(r.cosine, expected.cosine)) << n;
      EXPECT_TRUE(BitEqual(r.norms, expected.norms)) << n;
      EXPECT_TRUE(BitEqual(r.da, expected.da)) << n;
      EXPECT_TRUE(BitEqual(r.db, expected.db)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(r.db, n), expected.db));
    }
  });
}

TEST(CosineRowsTest, ParallelAndOrthogonalRowsHaveTheirCosines) {
  const std::vector<float> a = {1, 2, 0, 3, 4, 0, 0, 0, 5, 0, 0, 0}, b = {2, 4, 0, -3, -4, 0, 1, 1, 0, 1, 1, 1};
  const Result r = Kernel(3, a, b, std::vector<float>(4, 1.0f));
  EXPECT_NEAR(r.cosine[0], 1, 1e-6);
  EXPECT_NEAR(r.cosine[1], -1, 1e-6);
  EXPECT_EQ(r.cosine[2], 0);
  EXPECT_EQ(r.cosine[3], 0);  // of a row of zeros
}

TEST(CosineRowsTest, GradientAgreesWithDifferencesInDouble) {
  const int64_t n = 19;
  const std::vector<float> a = RandomNormals(n, 1), b = RandomNormals(n, 2), d = {0.7f};
  const Result r = Kernel(n, a, b, d);
  const auto loss = [&](const std::vector<double>& x, const std::vector<double>& y) {
    double xx = 0, yy = 0, xy = 0;
    for (size_t j = 0; j < x.size(); ++j) xx += x[j] * x[j], yy += y[j] * y[j], xy += x[j] * y[j];
    return static_cast<double>(d[0]) * xy / std::sqrt(xx * yy);
  };
  const std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end());
  for (size_t j = 0; j < x.size(); ++j) {
    std::vector<double> above = x, below = x;
    above[j] += 1e-5, below[j] -= 1e-5;
    EXPECT_NEAR(r.da[j], (loss(above, y) - loss(below, y)) / 2e-5, 1e-6);
    above = below = y;
    above[j] += 1e-5, below[j] -= 1e-5;
    EXPECT_NEAR(r.db[j], (loss(x, above) - loss(x, below)) / 2e-5, 1e-6);
  }
}

}  // namespace
}  // namespace reprise::kernels
