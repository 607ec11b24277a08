// The gradients against central differences of a layer in double.

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/experts/test_layer.h"

namespace reprise::kernels {
namespace {

using Doubles = std::vector<double>;

struct DoubleLayer {
  explicit DoubleLayer(const TestLayer& l)
      : sizes(l.sizes),
        expert_TK(l.expert_TK),
        x(l.x_TD.begin(), l.x_TD.end()),
        weight(l.weight_TK.begin(), l.weight_TK.end()),
        dy(l.dy_TD.begin(), l.dy_TD.end()),
        gate(l.gate_EFD.begin(), l.gate_EFD.end()),
        up(l.up_EFD.begin(), l.up_EFD.end()),
        down(l.down_EDF.begin(), l.down_EDF.end()) {}
  LayerSizes sizes;
  std::vector<int32_t> expert_TK;
  Doubles x, weight, dy, gate, up, down;
};

Doubles Outputs(const DoubleLayer& l) {
  const int64_t d = l.sizes.width, f = l.sizes.expert_width;
  Doubles y(l.x.size());
  for (int64_t i = 0; i < l.sizes.tokens * l.sizes.per_token; ++i) {
    const int64_t t = i / l.sizes.per_token, e = l.expert_TK[i];
    for (int64_t j = 0; j < f; ++j) {
      double gate = 0, up = 0;
      for (int64_t c = 0; c < d; ++c) {
        gate += l.gate[(e * f + j) * d + c] * l.x[t * d + c];
        up += l.up[(e * f + j) * d + c] * l.x[t * d + c];
      }
      const double hidden = gate / (1 + std::exp(-gate)) * up;
      for (int64_t c = 0; c < d; ++c) y[t * d + c] += l.weight[i] * l.down[(e * d + c) * f + j] * hidden;
    }
  }
  return y;
}

double Loss(const DoubleLayer& l) {
  const Doubles y = Outputs(l);
  double loss = 0;
  for (size_t i = 0; i < y.size(); ++i) loss += l.dy[i] * y[i];
  return loss;
}

void ExpectGradient(DoubleLayer l, Doubles DoubleLayer::* parameter, const std::vector<float>& gradient) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ((l.*parameter).size(), gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double value = (l.*parameter)[i];
    (l.*parameter)[i] = value + kStep;
    const double above = Loss(l);
    (l.*parameter)[i] = value - kStep;
    const double below = Loss(l);
    (l.*parameter)[i] = value;
    ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-5) << i;
  }
}

TEST(ExpertsGradientTest, EqualsCentralDifferencesForEveryInput) {
  const TestLayer layer = RandomLayer({6, 7, 5, 4, 2}, 11);
  const LayerResults results = RunKernels(layer);
  const DoubleLayer exact(layer);
  ExpectGradient(exact, &DoubleLayer::x, results.dx_TD);
  ExpectGradient(exact, &DoubleLayer::weight, results.dweight_TK);
  ExpectGradient(exact, &DoubleLayer::gate, results.gate_EFD);
  ExpectGradient(exact, &DoubleLayer::up, results.up_EFD);
  ExpectGradient(exact, &DoubleLayer::down, results.down_EDF);
}

TEST(ExpertsForwardTest, StaysCloseToDoublePrecision) {
  const TestLayer layer = RandomLayer({20, 256, 256, 16, 4}, 12);
  const LayerResults results = RunKernels(layer);
  const Doubles exact = Outputs(DoubleLayer(layer));
  double error = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(results.y_TD[i] - exact[i], 2);
    size += exact[i] * exact[i];
  }
  EXPECT_LT(std::sqrt(error / size), 1e-6);
}

}  // namespace
}  // namespace reprise::kernels
