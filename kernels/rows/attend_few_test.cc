#include "kernels/rows/attend_few.h"

#include <cmath>
#include <vector>

#include "kernels/math/vector_math.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Problem {
  int64_t count, heads, width;  // width of all heads
  std::vector<float> q, k, v, bias, factor, dout;
  Problem(int64_t keys, int64_t heads_of, int64_t width_of)
      : count(keys),
        heads(heads_of),
        width(width_of),
        q(RandomNormals(width, 1)),
        k(RandomNormals(count * width, 2)),
        v(RandomNormals(count * width, 3)),
        bias(RandomNormals(count, 4)),
        factor(RandomNormals(count * heads, 5)),
        dout(RandomNormals(width, 6)) {}
  FewKeys Keys() const {
    return {q.data(), {k.data(), count, width}, {v.data(), count, width}, bias.data(), factor.data(), heads, 0.5f};
  }
};

struct Result {
  std::vector<float> probability, out, dq, dk, dv, dbias;
};

Result Kernel(const Problem& p) {
  const size_t width = static_cast<size_t>(p.width), all = static_cast<size_t>(p.count * p.width);
  Result r{std::vector<float>(static_cast<size_t>(p.count * p.heads)),
           std::vector<float>(width),
           std::vector<float>(width),
           std::vector<float>(all),
           std::vector<float>(all),
           std::vector<float>(static_cast<size_t>(p.count))};
  AttendFew(p.Keys(), r.probability.data(), r.out.data());
  AttendFewBackward(p.Keys(), r.probability.data(), p.dout.data(),
                    {r.dq.data(), {r.dk.data(), p.count, p.width}, {r.dv.data(), p.count, p.width}, r.dbias.data()});
  return r;
}

// Sum over columns of dout * out, in double.
double Loss(const Problem& p, const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
            const std::vector<double>& bias) {
  const size_t width = static_cast<size_t>(p.width), head_width = width / static_cast<size_t>(p.heads);
  double loss = 0;
  for (size_t head = 0; head < static_cast<size_t>(p.heads); ++head) {
    std::vector<double> weight;
    double sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(p.count); ++i) {
      double score = bias[i];
      for (size_t d = head * head_width; d < (head + 1) * head_width; ++d) score += 0.5 * q[d] * k[i * width + d];
      weight.push_back(std::exp(score));
      sum += weight.back();
    }
    for (size_t i = 0; i < weight.size(); ++i) {
      const double share = weight[i] / sum * static_cast<double>(p.factor[i * static_cast<size_t>(p.heads) + head]);
      for (size_t d = head * head_width; d < (head + 1) * head_width; ++d) {
        loss += static_cast<double>(p.dout[d]) * share * v[i * width + d];
      }
    }
  }
  return loss;
}

TEST(AttendFewTest, GradientsAgreeWithDifferencesInDouble) {
  for (const int64_t count : {1, 2, 5}) {
    const Problem p(count, 3, 12);
    const Result r = Kernel(p);
    const std::vector<double> q(p.q.begin(), p.q.end()), k(p.k.begin(), p.k.end()), v(p.v.begin(), p.v.end()),
        bias(p.bias.begin(), p.bias.end());
    double own = 0;
    for (size_t d = 0; d < r.out.size(); ++d) own += static_cast<double>(p.dout[d]) * static_cast<double>(r.out[d]);
    EXPECT_NEAR(own, Loss(p, q, k, v, bias), 1e-5);
    const auto expect = [&](const std::vector<float>& gradient, const std::vector<double>& of, const auto& loss) {
      for (size_t i = 0; i < gradient.size(); ++i) {
        std::vector<double> x = of;
        x[i] = of[i] + 1e-5;
        const double above = loss(x);
        x[i] = of[i] - 1e-5;
        EXPECT_NEAR(gradient[i], (above - loss(x)) / 2e-5, 2e-5) << i;
      }
    };
    expect(r.dq, q, [&](const auto& x) { return Loss(p, x, k, v, bias); });
    expect(r.dk, k, [&](const auto& x) { return Loss(p, q, x, v, bias); });
    expect(r.dv, v, [&](const auto& x) { return Loss(p, q, k, x, bias); });
    expect(r.dbias, bias, [&](const auto& x) { return Loss(p, q, k, v, x); });
  }
}

// The contract again, one head at a time, columns outermost.
Result Reference(const Problem& p) {
  const int64_t head_width = p.width / p.heads;
  Result r = Kernel(p);
  for (int64_t head = 0; head < p.heads; ++head) {
    std::vector<float> e;
    float max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < p.count; ++k) {
      float dot = 0;
      for (int64_t d = head * head_width; d < (head + 1) * head_width; ++d)
        dot = std::fma(p.q[d], p.k[k * p.width + d], dot);
      e.push_back(std::fma(dot, 0.5f, p.bias[k]));
      max = std::max(max, e.back());
    }
    for (float& x : e) sum += x = Exp(x - max);
    for (int64_t d = head * head_width; d < (head + 1) * head_width; ++d) {
      float out = 0;
      for (int64_t k = 0; k < p.count; ++k) {
        const float probability = e[k] / sum;
        r.probability[k * p.heads + head] = probability;
        out = std::fma(probability * p.factor[k * p.heads + head], p.v[k * p.width + d], out);
      }
      r.out[d] = out;
    }
  }
  return r;
}

TEST(AttendFewTest, EqualsTheScalarReferenceBitForBit) {
  for (const int64_t count : {1, 2, 3, 8}) {
    for (const int64_t heads : {1, 2, 8}) {
      const Problem p(count, heads, 8 * heads);
      const Result expected = Reference(p), r = Kernel(p);
      EXPECT_TRUE(BitEqual(r.probability, expected.probability));
      EXPECT_TRUE(BitEqual(r.out, expected.out));
      EXPECT_FALSE(BitEqual(WithOneBitFlipped(r.out, 0), expected.out));
    }
  }
}

}  // namespace
}  // namespace reprise::kernels
