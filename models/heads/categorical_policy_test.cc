// A masked categorical policy: a multi-layer perceptron whose outputs are the logits of actions. Its gradients are
// PyTorch's, and it learns.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "kernels/lm_head/categorical.h"
#include "kernels/optimizer/adamw.h"
#include "kernels/sampling/sampling.h"
#include "kernels/testing/kernel_testing.h"
#include "models/heads/mlp.h"

namespace reprise::models {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomNormals;

// States and what was done in them.
struct Decisions {
  int64_t rows = 0, inputs = 0, actions = 0;
  std::vector<float> x = {};
  std::vector<uint8_t> allowed = {};
  std::vector<int32_t> action = {};
  std::vector<float> dlogprob = {}, dentropy = {};  // the gradient of the loss

  kernels::ConstRows X(const kernels::Range& batch) const {
    return kernels::ConstRows{x.data(), rows, inputs}.Slice(batch);
  }
  kernels::RowView<const uint8_t> Allowed(const kernels::Range& batch) const {
    return kernels::RowView<const uint8_t>{allowed.data(), rows, actions}.Slice(batch);
  }
};

struct Pass {
  std::vector<float> logprob, entropy, gradient, dx;
};

// Scores and gradient of all decisions, in batches of at most `batch_rows`.
Pass RunPass(const FlatLayout& layout, const Mlp& mlp, const Decisions& decisions, float temperature,
             int64_t batch_rows) {
  Pass pass = {{}, {}, std::vector<float>(layout.total), std::vector<float>(decisions.x.size())};
  std::vector<float> open(layout.total), logits(decisions.rows * decisions.actions);
  std::vector<kernels::RowStatistics> statistics(decisions.rows);
  MlpBuffers buffers;
  for (kernels::Range batch; batch.begin < decisions.rows; batch.begin = batch.end) {
    batch.end = std::min(batch.begin + batch_rows, decisions.rows);
    const kernels::Rows z = kernels::Rows{logits.data(), decisions.rows, decisions.actions}.Slice(batch);
    const kernels::Rows dx = kernels::Rows{pass.dx.data(), decisions.rows, decisions.inputs}.Slice(batch);
    mlp.Forward(decisions.X(batch), z, &buffers);
    kernels::MaskLogits(decisions.Allowed(batch), z);
    kernels::CategoricalForward(temperature, z, statistics.data());
    for (int64_t r = 0; r < z.rows; ++r) {
      pass.logprob.push_back(kernels::LogProbability(statistics[r], z[r][decisions.action[batch.begin + r]]));
      pass.entropy.push_back(statistics[r].entropy);
    }
    kernels::CategoricalBackward({z, statistics.data()}, temperature,
                                 {decisions.action.data() + batch.begin, decisions.dlogprob.data() + batch.begin,
                                  decisions.dentropy.data() + batch.begin},
                                 z);
    mlp.Backward(decisions.X(batch), z, {pass.gradient.data(), open.data(), batch.begin, batch.end == decisions.rows},
                 dx, &buffers);
  }
  return pass;
}

// What PyTorch 2.13 computes in double for the same network: logprob, entropy; the gradient of each tensor in the
// layout's order and of the inputs.
struct Golden {
  MlpShape shape;
  std::vector<double> logprob, entropy, gradient;
};

void ExpectGolden(const Golden& golden) {
  FlatLayout layout;
  Mlp mlp(golden.shape, "mlp", &layout);
  std::vector<float> parameters(layout.total);
  for (size_t t = 0; t < layout.specs.size(); ++t) {
    const ParameterSpec& spec = layout.specs[t];
    for (int64_t i = 0; i < spec.size; ++i) {
      parameters[spec.offset + i] = static_cast<float>((i * 37 + 11 * static_cast<int64_t>(t)) % 19 - 9) / 16;
    }
  }
  mlp.Refresh(parameters);
  Decisions decisions = {4, 3, 3, {}, {1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0}, {0, 2, 1, 1}, {-1, 0.5f, -2, -0.25f}};
  for (int i = 0; i < 12; ++i) decisions.x.push_back(static_cast<float>((i * 29 + 5) % 23 - 11) / 8);
  decisions.dentropy.assign(4, -0.1f);
  const Pass pass = RunPass(layout, mlp, decisions, 0.5f, 4);
  std::vector<float> gradient;
  for (const ParameterSpec& spec : layout.specs) {
    gradient.insert(gradient.end(), pass.gradient.begin() + spec.offset,
                    pass.gradient.begin() + spec.offset + spec.size);
  }
  gradient.insert(gradient.end(), pass.dx.begin(), pass.dx.end());
  const auto expect_near = [](const std::vector<double>& expected, const std::vector<float>& actual) {
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], actual[i], 2e-6) << i;
  };
  expect_near(golden.logprob, pass.logprob);
  expect_near(golden.entropy, pass.entropy);
  expect_near(golden.gradient, gradient);
}

TEST(CategoricalPolicyTest, HasTheScoresAndGradientsOfPyTorchWithLayerNormAndTanh) {
  ExpectGolden(
      {{3, {4, 4}, 3, Activation::kTanh, true},
       {-1.0424856, -0.75387959, -0.64871351, -0.73687026},
       {1.0975219, 0.6914101, 0.69211463, 0.69223179},
       {-0.007637741, 0.02111641,  -0.02395597, 0.003212537, -0.029178,    0.005176029,  0.02510951,    0.04482784,
        -0.07339117,  -0.02068431, -0.03676626, 0.09217111,  0.03545384,   -0.02523838,  0.02861516,    -0.03883062,
        0.06728172,   -0.02967757, -0.00137114, 0.06138918,  0.07799312,   0.1013491,    0.09925332,    0.08600451,
        -0.06490119,  -0.08521706, -0.03965783, 0.01761717,  0.03134475,   -0.02143309,  -0.02073981,   -0.02086905,
        0.03149393,   -0.0327636,  -0.03349598, -0.03255415, 0.002062501,  0.1394138,    0.09389362,    0.03580603,
        -0.2617528,   -0.0202266,  -0.06186379, 0.3438432,   0.41592,      0.9617774,    -1.27952,      -0.1920081,
        -0.9049901,   -0.9065081,  -0.9836793,  -0.9360716,  0.7160876,    0.7465594,    -0.5503951,    -0.6889946,
        0.6949157,    0.6226787,   -0.6490766,  -0.60814,    -1.411003,    -1.369238,    1.199472,      1.297135,
        -1.54958,     -1.503765,   3.053345,    -0.01420269, -0.009833378, -0.009833378, -0.0009757524, 0.008050269,
        0.008050269,  0.002339942, 0.001446209, 0.001446209, -0.01341921,  0.01618063,   0.01618063}});
}

TEST(CategoricalPolicyTest, HasTheScoresAndGradientsOfPyTorchWithRelu) {
  ExpectGolden(
      {{3, {4}, 3, Activation::kRelu, false},
       {-2.1675626, -0.44179562, -0.62712249, -0.47777512},
       {0.93311161, 0.65174253, 0.69081613, 0.66398494},
       {-1.512106,  -0.1650486,  1.182009,   -0.03909917, -0.1563967,  0.1759463,   -0.03909917, -0.1563967, 0.1759463,
        -0.4452501, 0.4238188,   0.4080325,  1.796077,    -0.1563967,  -0.1563967,  -0.6205691,  -1.892841,  0.03258264,
        0.01824628, 0.003909917, 1.087625,   -0.03258264, -0.01824628, -0.04742608, 0.8052159,   0,          0,
        0.04351617, -2.016636,   -0.8437164, 2.860352,    -0.8617496,  0.8617496,   0.7659996,   -0.1485438, 0.1485438,
        0.1320389,  -0.02901078, 0,          0.02901078,  -0.1172975,  -0.08797314, -0.05864876}});
}

constexpr int64_t kActions = 4;

// A bandit: the best action is the allowed one of the largest feature.
Decisions States(int64_t rows, uint64_t seed) {
  Decisions states = {rows, kActions, kActions, RandomNormals(rows * kActions, 2 * seed)};
  for (int64_t i = 0; i < rows * kActions; ++i) {
    states.allowed.push_back(i % kActions == 0 || RandomBelow(4, 2 * seed + 1, i) > 0);
  }
  return states;
}

int32_t Best(const Decisions& states, int64_t r) {
  int32_t best = 0;  // always allowed
  for (int32_t a = 1; a < kActions; ++a) {
    const bool better = states.x[r * kActions + a] > states.x[r * kActions + best];
    if (better && states.allowed[r * kActions + a] != 0) best = a;
  }
  return best;
}

void Act(const Mlp& mlp, const kernels::SamplingOptions& options, uint64_t step, Decisions* states) {
  std::vector<float> logits(states->rows * kActions);
  const kernels::Rows rows = {logits.data(), states->rows, kActions};
  const kernels::Range all = {0, states->rows};
  MlpBuffers buffers;
  mlp.Forward(states->X(all), rows, &buffers);
  kernels::MaskLogits(states->Allowed(all), rows);
  kernels::SamplingWorkspace workspace;
  for (int64_t r = 0; r < states->rows; ++r) {
    const double uniform = DrawUniform(1, Purpose::kTest, {.step = step, .sample = static_cast<uint64_t>(r)});
    states->action.push_back(kernels::SampleToken(kActions, rows[r], options, uniform, &workspace).token);
  }
}

struct Trained {
  std::vector<float> parameters;
  double success = 0;  // greedily, in new states
};

// REINFORCE with AdamW.
Trained Train(int steps, int64_t batch_rows) {
  FlatLayout layout;
  Mlp mlp({kActions, {16}, kActions, Activation::kTanh, true}, "mlp", &layout);
  Trained trained = {std::vector<float>(layout.total)};
  mlp.Initialize(3, {.hidden = 1, .outputs = 0.01}, absl::MakeSpan(trained.parameters));
  mlp.Refresh(trained.parameters);
  std::vector<float> m(layout.total), v(layout.total);
  for (int step = 1; step <= steps; ++step) {
    Decisions states = States(64, step);
    Act(mlp, {}, step, &states);
    for (int64_t r = 0; r < states.rows; ++r) {
      const float reward = states.action[r] == Best(states, r) ? 1.0f : 0.0f;
      states.dlogprob.push_back(-(reward - 0.5f) / 64);
      states.dentropy.push_back(-0.01f / 64);
    }
    const Pass pass = RunPass(layout, mlp, states, 1.0f, batch_rows);
    const kernels::AdamWStep adamw = kernels::MakeAdamWStep(0.01, 0.9, 0.999, 1e-8, 0.0, step, 1.0);
    EXPECT_TRUE(
        kernels::AdamWUpdate(layout.total, adamw, pass.gradient.data(), trained.parameters.data(), m.data(), v.data()));
    mlp.Refresh(trained.parameters);
  }
  Decisions states = States(500, 100000);
  Act(mlp, {.greedy = true}, 0, &states);
  for (int64_t r = 0; r < states.rows; ++r) trained.success += states.action[r] == Best(states, r) ? 1.0 / 500 : 0;
  return trained;
}

TEST(CategoricalPolicyTest, LearnsTheBestAllowedActionOfABandit) {
  EXPECT_LT(Train(0, 64).success, 0.6);
  EXPECT_GT(Train(300, 64).success, 0.9);
}

TEST(CategoricalPolicyTest, BatchesAndInstructionSetsChangeNoBitOfTraining) {
  const Trained expected = Train(20, 64);
  ForEachIsa([&] {
    for (const int64_t batch_rows : {1, 7, 64}) {
      EXPECT_TRUE(BitEqual(expected.parameters, Train(20, batch_rows).parameters)) << batch_rows;
    }
  });
}

}  // namespace
}  // namespace reprise::models
