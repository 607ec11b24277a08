#include "kernels/router/router.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/testing/kernel_testing.h"
#include "kernels/testing/softmax.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Routing {
  std::vector<float> probability;
  std::vector<int32_t> expert;
  std::vector<float> weight;
};

std::vector<RouterShape> Shapes() {
  std::vector<RouterShape> shapes;
  for (bool normalize : {false, true}) {
    for (auto [experts, per_token] : std::vector<std::pair<int, int>>{
             {1, 1}, {2, 1}, {8, 2}, {8, 8}, {16, 4}, {17, 3}, {64, 8}, {65, 8}, {100, 1}}) {
      for (int64_t tokens : {0, 1, 5, 33}) shapes.push_back({tokens, experts, per_token, normalize});
    }
  }
  return shapes;
}

Routing Route(const RouterShape& s, const std::vector<float>& logits) {
  Routing r{std::vector<float>(s.tokens * s.experts), std::vector<int32_t>(s.tokens * s.per_token),
            std::vector<float>(s.tokens * s.per_token)};
  RouterForward(s, logits.data(), r.probability.data(), r.expert.data(), r.weight.data());
  return r;
}

// `highest_index` breaks ties the other way: the negative control.
Routing Reference(const RouterShape& s, const std::vector<float>& logits, bool highest_index = false) {
  Routing r{std::vector<float>(s.tokens * s.experts), {}, {}};
  Softmax({logits.data(), s.tokens, s.experts}, {r.probability.data(), s.tokens, s.experts});
  for (int64_t t = 0; t < s.tokens; ++t) {
    const float* p = r.probability.data() + t * s.experts;
    std::vector<int32_t> order(s.experts);
    std::iota(order.begin(), order.end(), 0);
    if (highest_index) std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [p](int a, int b) { return p[a] > p[b]; });
    order.resize(s.per_token);
    std::sort(order.begin(), order.end());
    float sum = 0;
    for (int32_t e : order) sum += p[e];
    for (int32_t e : order) {
      r.expert.push_back(e);
      r.weight.push_back(s.normalize ? p[e] / sum : p[e]);
    }
  }
  return r;
}

TEST(RouterTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const RouterShape& s : Shapes()) {
    std::vector<float> logits = RandomNormals(s.tokens * s.experts, s.experts);
    // Every other logit is rounded to halves, so that there are ties.
    for (size_t i = 0; i < logits.size(); i += 2) logits[i] = std::floor(logits[i] * 2) / 2;
    const Routing expected = Reference(s, logits);
    ForEachIsa([&] {
      const Routing r = Route(s, logits);
      EXPECT_TRUE(BitEqual(expected.probability, r.probability));
      EXPECT_TRUE(BitEqual(expected.weight, r.weight));
      EXPECT_EQ(expected.expert, r.expert) << s.experts << " " << s.per_token;
      if (s.tokens > 0) {
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected.weight, 0), r.weight));
      }
    });
  }
}

TEST(RouterTest, PrefersTheLowestIndexAmongEqualExperts) {
  const RouterShape s = {1, 8, 3, false};
  const std::vector<float> logits = {1, 2, 1, 2, 2, 2, 1, 2};
  EXPECT_EQ(Route(s, logits).expert, (std::vector<int32_t>{1, 3, 4}));
  EXPECT_NE(Reference(s, logits, /*highest_index=*/true).expert, (std::vector<int32_t>{1, 3, 4}));
}

TEST(RouterTest, KeepsExpertsInRangeAndWeightsNanWhenALogitIsNan) {
  for (int64_t bad : {0, 3, 7}) {
    std::vector<float> logits(8, 1.0f);
    logits[bad] = NAN;
    ForEachIsa([&] {
      const Routing r = Route({1, 8, 3, true}, logits);
      for (float w : r.weight) EXPECT_TRUE(std::isnan(w));
      EXPECT_TRUE(r.expert[0] >= 0 && r.expert[0] < r.expert[1] && r.expert[1] < r.expert[2] && r.expert[2] < 8);
    });
  }
}

TEST(CountExpertsTest, AddsToTheCounts) {
  const std::vector<int32_t> experts = {0, 3, 1, 3};
  std::vector<int64_t> counts = {10, 0, 0, 0};
  CountExperts(2, 2, experts.data(), counts.data());
  EXPECT_EQ(counts, (std::vector<int64_t>{11, 1, 0, 2}));
}

std::vector<float> Backward(const RouterShape& s, const Routing& r, const std::vector<float>& dweight,
                            const float* aux) {
  std::vector<float> dlogits(s.tokens * s.experts);
  RouterBackward(s, r.probability.data(), r.expert.data(), r.weight.data(), dweight.data(), aux, dlogits.data());
  return dlogits;
}

std::vector<float> ReferenceBackward(const RouterShape& s, const Routing& r, const std::vector<float>& dweight,
                                     const float* aux) {
  std::vector<float> dlogits;
  for (int64_t t = 0; t < s.tokens; ++t) {
    const float* p = r.probability.data() + t * s.experts;
    std::vector<float> dp(s.experts, 0.0f);
    if (aux != nullptr) dp.assign(aux, aux + s.experts);
    float c = 0, sum = 0;
    for (int64_t k = t * s.per_token; k < (t + 1) * s.per_token; ++k) {
      c = std::fma(dweight[k], r.weight[k], c);
      sum += p[r.expert[k]];
    }
    for (int64_t k = t * s.per_token; k < (t + 1) * s.per_token; ++k) {
      dp[r.expert[k]] += s.normalize ? (dweight[k] - c) / sum : dweight[k];
    }
    Lanes a;
    for (int64_t e = 0; e < s.experts; ++e) a.MulAdd(e, dp[e], p[e]);
    for (int64_t e = 0; e < s.experts; ++e) dlogits.push_back(p[e] * (dp[e] - a.Sum()));
  }
  return dlogits;
}

TEST(RouterBackwardTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const RouterShape& s : Shapes()) {
    const Routing r = Route(s, RandomNormals(s.tokens * s.experts, 1));
    const std::vector<float> dweight = RandomNormals(s.tokens * s.per_token, 2), aux = RandomNormals(s.experts, 3);
    for (const float* a : {static_cast<const float*>(nullptr), aux.data()}) {
      const std::vector<float> expected = ReferenceBackward(s, r, dweight, a);
      ForEachIsa([&] {
        EXPECT_TRUE(BitEqual(expected, Backward(s, r, dweight, a))) << s.experts << " " << s.per_token;
        if (s.tokens > 0) {
          EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), Backward(s, r, dweight, a)));
        }
      });
    }
  }
}

// sum of dweight_k weight_k + sum of aux_e p_e of one row in double, for given experts.
double ExactLoss(const RouterShape& s, const std::vector<double>& logits, const Routing& r,
                 const std::vector<float>& dweight, const std::vector<float>& aux) {
  double total = 0, chosen = 0, loss = 0;
  for (double v : logits) total += std::exp(v);
  for (int32_t e : r.expert) chosen += std::exp(logits[e]) / total;
  for (int64_t k = 0; k < s.per_token; ++k) {
    loss += dweight[k] * std::exp(logits[r.expert[k]]) / total / (s.normalize ? chosen : 1.0);
  }
  for (int64_t e = 0; e < s.experts; ++e) loss += aux[e] * std::exp(logits[e]) / total;
  return loss;
}

TEST(RouterBackwardTest, AgreesWithFiniteDifferences) {
  for (RouterShape s : Shapes()) {
    if (s.tokens != 1) continue;
    const std::vector<float> logits = RandomNormals(s.experts, 1);
    const std::vector<float> dweight = RandomNormals(s.per_token, 2), aux = RandomNormals(s.experts, 3);
    const Routing r = Route(s, logits);
    std::vector<double> numeric;
    for (int64_t e = 0; e < s.experts; ++e) {
      std::vector<double> up(logits.begin(), logits.end()), down = up;
      up[e] += 1e-5;
      down[e] -= 1e-5;
      numeric.push_back((ExactLoss(s, up, r, dweight, aux) - ExactLoss(s, down, r, dweight, aux)) / 2e-5);
    }
    EXPECT_LT(LargestError(numeric, Backward(s, r, dweight, aux.data())), 2e-6) << s.experts << " " << s.per_token;
  }
}

}  // namespace
}  // namespace reprise::kernels
