#include "models/heads/feature_norm.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::models {
namespace {

struct Example {
  Example() : norm(2, "features", &layout), parameters(layout.total, NAN) {
    norm.Initialize(absl::MakeSpan(parameters));
    norm.Refresh(parameters);
  }
  float mean(int f) const { return parameters[layout.specs[0].offset + f]; }
  float variance(int f) const { return parameters[layout.specs[1].offset + f]; }

  FlatLayout layout;
  FeatureNorm norm;
  std::vector<float> parameters;
};

TEST(FeatureNormTest, HasStatisticsThatOptimizersLeaveAlone) {
  const Example e;
  ASSERT_EQ(e.layout.specs.size(), 2u);
  EXPECT_EQ(e.layout.specs[0].name, "features.mean");
  for (const ParameterSpec& spec : e.layout.specs) EXPECT_EQ(spec.kind, ParameterKind::kStatistic);
}

TEST(FeatureNormTest, DividesByTheDeviationAndClips) {
  Example e;
  e.parameters[e.layout.specs[0].offset] = 1;
  e.parameters[e.layout.specs[1].offset] = 4;
  e.norm.Refresh(e.parameters);
  std::vector<float> x = {5, 0.5f, -100, 11};
  e.norm.Apply({x.data(), 2, 2}, {x.data(), 2, 2});
  EXPECT_NEAR(x[0], 4 / std::sqrt(4.0001), 1e-6);
  EXPECT_NEAR(x[1], 0.5 / std::sqrt(1.0001), 1e-6);
  EXPECT_EQ(x[2], -10);
  EXPECT_EQ(x[3], 10);
}

// A step with features 2 and 4: mean 3, variance 1. From mean 0 and variance 1:
// mean' = 0.03, variance' = 0.99 + 0.01 + 0.99 * 0.01 * 9 = 1.0891.
TEST(FeatureNormTest, MovesByAHundredthTowardsTheStep) {
  Example e;
  const std::vector<float> x = {2, 7, 4, 7};
  const std::vector<kernels::Moments> step_F = FeatureNorm::Observe({x.data(), 2, 2});
  EXPECT_EQ(step_F[0], (kernels::Moments{2, 3, 2}));
  EXPECT_EQ(step_F[1], (kernels::Moments{2, 7, 0}));
  e.norm.Move(step_F, absl::MakeSpan(e.parameters));
  EXPECT_FLOAT_EQ(e.mean(0), 0.03f);
  EXPECT_FLOAT_EQ(e.variance(0), 1.0891f);
  EXPECT_FLOAT_EQ(e.mean(1), 0.07f);
  EXPECT_FLOAT_EQ(e.variance(1), static_cast<float>(0.99 + 0.99 * 0.01 * 49));
}

TEST(FeatureNormTest, ConvergesToTheStatisticsOfItsSteps) {
  Example e;
  const std::vector<float> x = {2, 7, 4, 7};
  for (int step = 0; step < 3000; ++step) {
    e.norm.Move(FeatureNorm::Observe({x.data(), 2, 2}), absl::MakeSpan(e.parameters));
  }
  EXPECT_NEAR(e.mean(0), 3, 1e-4);
  EXPECT_NEAR(e.variance(0), 1, 1e-3);
  EXPECT_NEAR(e.variance(1), 0, 1e-3);
}

}  // namespace
}  // namespace reprise::models
