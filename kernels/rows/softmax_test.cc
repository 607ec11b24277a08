#include "kernels/testing/softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/math/vector_math.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

std::vector<float> Reference(const std::vector<float>& x) {
  const float max = *std::max_element(x.begin(), x.end());
  Lanes sum;
  std::vector<float> y;
  for (size_t j = 0; j < x.size(); ++j) {
    y.push_back(Exp(x[j] - max));
    sum.Add(j, y[j]);
  }
  for (float& v : y) v *= 1.0f / sum.Sum();
  return y;
}

std::vector<double> Exact(const std::vector<float>& x) {
  double sum = 0;
  for (float v : x) sum += std::exp(double{v});
  std::vector<double> y;
  for (float v : x) y.push_back(std::exp(double{v}) / sum);
  return y;
}

TEST(SoftmaxTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (int64_t n : {1, 2, 7, 8, 9, 16, 63, 64, 65, 100, 127, 129, 1000, 5000}) {
    const std::vector<float> x = RandomNormals(n, n, 3.0f), expected = Reference(x);
    ForEachIsa([&] {
      std::vector<float> y(n), in_place = x;
      Softmax({x.data(), 1, n}, {y.data(), 1, n});
      EXPECT_TRUE(BitEqual(expected, y)) << n;
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, n - 1), y));
      Softmax({in_place.data(), 1, n}, {in_place.data(), 1, n});
      EXPECT_TRUE(BitEqual(expected, in_place)) << n;
    });
    EXPECT_LT(LargestError(Exact(x), expected), 3e-7) << n;
  }
}

TEST(SoftmaxTest, TreatsEachRowAloneAndWritesNothingElse) {
  const std::vector<float> x = RandomNormals(3 * 70, 1);
  ForEachIsa([&] {
    std::vector<float> y(3 * 80, 7.0f);
    Softmax({x.data(), 3, 65, 70}, {y.data(), 3, 65, 80});
    for (int64_t r = 0; r < 3; ++r) {
      const std::vector<float> row(x.begin() + r * 70, x.begin() + r * 70 + 65);
      EXPECT_TRUE(BitEqual(Reference(row), {y.data() + r * 80, 65}));
      EXPECT_TRUE(BitEqual(std::vector<float>(15, 7.0f), {y.data() + r * 80 + 65, 15}));
    }
    Softmax({nullptr, 0, 65}, {nullptr, 0, 65});
    Softmax({nullptr, 1, 0}, {nullptr, 1, 0});
  });
}

TEST(SoftmaxTest, PropagatesNanToTheWholeRow) {
  for (float bad : {NAN, INFINITY}) {
    for (size_t at : {0u, 8u, 64u, 99u}) {
      std::vector<float> x(100, 1.0f);
      x[at] = bad;
      ForEachIsa([&] {
        std::vector<float> y(100);
        Softmax({x.data(), 1, 100}, {y.data(), 1, 100});
        for (float v : y) EXPECT_TRUE(std::isnan(v)) << bad << " at " << at;
      });
    }
  }
}

}  // namespace
}  // namespace reprise::kernels
