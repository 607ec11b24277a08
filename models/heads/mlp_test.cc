#include "models/heads/mlp.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/math/vector_math.h"
#include "kernels/testing/kernel_testing.h"
#include "rapidcheck/gtest.h"

namespace reprise::models {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;
using ::testing::ElementsAre;

// A network, its parameters, and rows of inputs with gradients of the outputs.
struct Example {
  Example(const MlpShape& of, int64_t number_of_rows, uint64_t seed)
      : shape(of), mlp(of, "mlp", &layout), rows(number_of_rows), parameters(layout.total, NAN) {
    for (const ParameterSpec& spec : layout.specs) {
      const auto values = RandomNormals(spec.size, seed++, spec.kind == ParameterKind::kVector ? 1.0f : 0.5f);
      std::copy(values.begin(), values.end(), parameters.begin() + spec.offset);
    }
    mlp.Refresh(parameters);
    x = RandomNormals(rows * shape.inputs, seed++);
    dy = RandomNormals(rows * mlp.outputs(), seed++);
  }

  FlatLayout layout;
  MlpShape shape;
  Mlp mlp;
  int64_t rows;
  std::vector<float> parameters, x, dy;
};

struct Outcome {
  std::vector<float> y, dx, gradient;  // the last without the layout's padding

  std::vector<float> All() const {
    std::vector<float> all = y;
    for (const std::vector<float>* part : {&dx, &gradient}) all.insert(all.end(), part->begin(), part->end());
    return all;
  }
};

template <typename T>
std::vector<T> WithoutPadding(const FlatLayout& layout, const std::vector<T>& flat) {
  std::vector<T> values;
  for (const ParameterSpec& spec : layout.specs) {
    values.insert(values.end(), flat.begin() + spec.offset, flat.begin() + spec.offset + spec.size);
  }
  return values;
}

// Forward and backward over all rows, in batches that end after each of `cuts`, with rows that have strides. Contents
// that must not affect a call start as NaN.
Outcome RunInBatches(const Example& example, const std::vector<int64_t>& cuts) {
  const int64_t inputs = example.shape.inputs, outputs = example.mlp.outputs(), rows = example.rows;
  std::vector<float> x(rows * (inputs + 2), NAN), dx = x, y(rows * (outputs + 3), NAN), dy = y;
  const kernels::Rows x_rows = {x.data(), rows, inputs, inputs + 2}, dx_rows = {dx.data(), rows, inputs, inputs + 2};
  const kernels::Rows y_rows = {y.data(), rows, outputs, outputs + 3},
                      dy_rows = {dy.data(), rows, outputs, outputs + 3};
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(example.x.begin() + r * inputs, inputs, x_rows[r]);
    std::copy_n(example.dy.begin() + r * outputs, outputs, dy_rows[r]);
  }
  std::vector<float> total(example.layout.total, NAN), open = total;
  MlpBuffers buffers;
  int64_t begin = 0;
  for (size_t c = 0; c < cuts.size(); ++c) {
    const kernels::Range batch = {begin, cuts[c]};
    example.mlp.Forward(x_rows.Slice(batch), y_rows.Slice(batch), &buffers);
    example.mlp.Backward(x_rows.Slice(batch), dy_rows.Slice(batch),
                         {total.data(), cuts.size() == 1 ? nullptr : open.data(), begin, c + 1 == cuts.size()},
                         dx_rows.Slice(batch), &buffers);
    begin = cuts[c];
  }
  Outcome outcome = {{}, {}, WithoutPadding(example.layout, total)};
  for (int64_t r = 0; r < rows; ++r) {
    outcome.y.insert(outcome.y.end(), y_rows[r], y_rows[r] + outputs);
    outcome.dx.insert(outcome.dx.end(), dx_rows[r], dx_rows[r] + inputs);
  }
  return outcome;
}

// The sum of a(i) b(i) in the order of the order contract.
template <typename A, typename B>
float Chain(int64_t count, const A& a, const B& b) {
  float total = 0;
  for (int64_t begin = 0; begin < count; begin += 512) {
    float chain = 0;
    for (int64_t i = begin; i < std::min(count, begin + 512); ++i) chain = std::fma(a(i), b(i), chain);
    total = begin == 0 ? chain : total + chain;
  }
  return total;
}

// A layer's part of the contract in scalars.
struct ReferenceLayer {
  const MlpShape& shape;
  bool is_hidden;
  int64_t rows, inputs, outputs;
  const float *weight, *bias, *gain, *shift;  // the last two null without a normalisation
  std::vector<float> input = {}, normal = {}, inverse = {}, output = {};

  void Forward(const std::vector<float>& x) {
    input = x;
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<float> h;
      for (int64_t i = 0; i < outputs; ++i) {
        h.push_back(Chain(
                        inputs, [&](int64_t k) { return x[r * inputs + k]; },
                        [&](int64_t k) { return weight[i * inputs + k]; }) +
                    bias[i]);
      }
      if (gain != nullptr) Normalise(&h);
      for (float& v : h) {
        if (is_hidden && shape.activation == Activation::kRelu) v = v < 0 ? 0.0f : v;
        if (is_hidden && shape.activation == Activation::kTanh) kernels::Tanh(&v, &v, 1);
      }
      output.insert(output.end(), h.begin(), h.end());
    }
  }

  void Normalise(std::vector<float>* h) {
    const float n = static_cast<float>(outputs);
    Lanes sum, squares;
    for (int64_t j = 0; j < outputs; ++j) sum.Add(j, (*h)[j]);
    const float mean = sum.Sum() / n;
    for (int64_t j = 0; j < outputs; ++j) squares.MulAdd(j, (*h)[j] - mean, (*h)[j] - mean);
    inverse.push_back(1.0f / std::sqrt(squares.Sum() / n + 1e-5f));
    for (int64_t j = 0; j < outputs; ++j) {
      normal.push_back(((*h)[j] - mean) * inverse.back());
      (*h)[j] = std::fma(normal.back(), gain[j], shift[j]);
    }
  }

  // Returns the gradient of the inputs; appends those of the parameters.
  std::vector<float> Backward(std::vector<float> d, std::vector<float>* parameters) const {
    const auto columns = [&](const std::vector<float>* factor, std::vector<float>* to) {
      for (int64_t j = 0; j < outputs; ++j) {
        to->push_back(Chain(
            rows, [&](int64_t r) { return d[r * outputs + j]; },
            [&](int64_t r) { return factor == nullptr ? 1.0f : (*factor)[r * outputs + j]; }));
      }
    };
    for (size_t i = 0; is_hidden && i < d.size(); ++i) {
      d[i] = shape.activation == Activation::kTanh ? d[i] * std::fma(-output[i], output[i], 1.0f)
                                                   : (output[i] > 0 ? d[i] : 0.0f);
    }
    std::vector<float> of_norm, dx;
    if (gain != nullptr) {
      columns(&normal, &of_norm);
      columns(nullptr, &of_norm);
      for (int64_t r = 0; r < rows; ++r) NormInputGradient(r, d.data() + r * outputs);
    }
    for (int64_t i = 0; i < outputs; ++i) {
      for (int64_t k = 0; k < inputs; ++k) {
        parameters->push_back(Chain(
            rows, [&](int64_t r) { return d[r * outputs + i]; }, [&](int64_t r) { return input[r * inputs + k]; }));
      }
    }
    columns(nullptr, parameters);
    parameters->insert(parameters->end(), of_norm.begin(), of_norm.end());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < inputs; ++k) {
        dx.push_back(Chain(
            outputs, [&](int64_t i) { return d[r * outputs + i]; }, [&](int64_t i) { return weight[i * inputs + k]; }));
      }
    }
    return dx;
  }

  void NormInputGradient(int64_t r, float* d) const {
    const float n = static_cast<float>(outputs);
    Lanes sum, product;
    for (int64_t j = 0; j < outputs; ++j) {
      sum.Add(j, d[j] * gain[j]);
      product.MulAdd(j, d[j] * gain[j], normal[r * outputs + j]);
    }
    const float a = sum.Sum() / n, b = product.Sum() / n;
    for (int64_t j = 0; j < outputs; ++j) {
      d[j] = std::fma(-b, normal[r * outputs + j], d[j] * gain[j] - a) * inverse[r];
    }
  }
};

Outcome Reference(const Example& example) {
  std::vector<ReferenceLayer> layers;
  size_t spec = 0;
  const auto next = [&] { return example.parameters.data() + example.layout.specs[spec++].offset; };
  const size_t hidden = example.shape.hidden.size(), count = hidden + (example.shape.outputs > 0 ? 1 : 0);
  std::vector<float> h = example.x;
  int64_t inputs = example.shape.inputs;
  for (size_t l = 0; l < count; ++l) {
    const bool normalised = l < hidden && example.shape.layer_norm;
    const int64_t outputs = l < hidden ? example.shape.hidden[l] : example.shape.outputs;
    const float *const weight = next(), *const bias = next();
    const float* const gain = normalised ? next() : nullptr;
    const float* const shift = normalised ? next() : nullptr;
    layers.push_back({example.shape, l < hidden, example.rows, inputs, outputs, weight, bias, gain, shift});
    layers.back().Forward(h);
    h = layers.back().output;
    inputs = outputs;
  }
  Outcome outcome = {h, example.dy, {}};
  for (size_t l = count; l-- > 0;) {
    std::vector<float> gradient;
    outcome.dx = layers[l].Backward(outcome.dx, &gradient);
    outcome.gradient.insert(outcome.gradient.begin(), gradient.begin(), gradient.end());
  }
  return outcome;
}

const std::vector<MlpShape>& Shapes() {
  static const auto* const shapes = new std::vector<MlpShape>{
      {5, {}, 3},
      {4, {7}, 2, Activation::kTanh, false},
      {6, {9, 5}, 4, Activation::kTanh, true},
      {3, {40, 33}, 1, Activation::kRelu, true},
      {8, {6, 4}, 0, Activation::kTanh, true},
      {2, {3}, 0, Activation::kRelu, false},
  };
  return *shapes;
}

TEST(MlpTest, AppendsItsTensorsToTheLayout) {
  FlatLayout layout;
  layout.Append("encoder", {3}, ParameterKind::kMatrix);
  const Mlp mlp({4, {7}, 2, Activation::kTanh, true}, "policy", &layout);
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<ParameterKind> kinds;
  for (const ParameterSpec& spec : layout.specs) {
    names.push_back(spec.name), shapes.push_back(spec.shape), kinds.push_back(spec.kind);
    EXPECT_FALSE(spec.by_rows);
  }
  EXPECT_THAT(names, ElementsAre("encoder", "policy.0.weight", "policy.0.bias", "policy.0.norm.weight",
                                 "policy.0.norm.bias", "policy.1.weight", "policy.1.bias"));
  EXPECT_THAT(shapes, ElementsAre(Shape{3}, Shape{7, 4}, Shape{7}, Shape{7}, Shape{7}, Shape{2, 7}, Shape{2}));
  const auto kMatrix = ParameterKind::kMatrix, kVector = ParameterKind::kVector;
  EXPECT_THAT(kinds, ElementsAre(kMatrix, kMatrix, kVector, kVector, kVector, ParameterKind::kHead, kVector));
  EXPECT_EQ(mlp.outputs(), 2);
  FlatLayout trunk;
  EXPECT_EQ(Mlp({8, {6, 4}, 0}, "trunk", &trunk).outputs(), 4);
  EXPECT_EQ(trunk.specs[2].kind, kMatrix);
}

TEST(MlpTest, InitialWeightsAreNormalAndAFunctionOfSeedAndLayout) {
  FlatLayout layout;
  layout.Append("before", {20}, ParameterKind::kMatrix);
  const Mlp mlp({50, {200}, 40, Activation::kRelu, true}, "mlp", &layout);
  layout.Append("after", {20}, ParameterKind::kMatrix);
  std::vector<float> parameters(layout.total, -1.0f), again = parameters, other = parameters;
  mlp.Initialize(1, {.hidden = 1.5, .outputs = 0.01}, absl::MakeSpan(parameters));
  mlp.Initialize(1, {.hidden = 1.5, .outputs = 0.01}, absl::MakeSpan(again));
  mlp.Initialize(2, {.hidden = 1.5, .outputs = 0.01}, absl::MakeSpan(other));
  EXPECT_TRUE(BitEqual(parameters, again));
  const auto of = [&](int spec, size_t i) { return parameters[static_cast<size_t>(layout.specs[spec].offset) + i]; };
  for (const auto& [spec, deviation] : {std::pair(1, 1.5 / std::sqrt(50)), std::pair(5, 0.01 / std::sqrt(200))}) {
    double sum = 0, squares = 0;
    const double count = static_cast<double>(layout.specs[spec].size);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      sum += of(spec, i) / deviation, squares += std::pow(of(spec, i) / deviation, 2);
      EXPECT_NE(of(spec, i), other[static_cast<size_t>(layout.specs[spec].offset) + i]);
    }
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  }
  for (size_t i = 0; i < 200; ++i) EXPECT_THAT((std::vector{of(2, i), of(3, i), of(4, i)}), ElementsAre(0, 1, 0));
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(of(6, i), 0.0f);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(of(0, i) + of(7, i), -2.0f);  // not of this network
  // Part of the numeric contract: these values may change only with its version.
  EXPECT_EQ(of(1, 0), -0x1.8757cap-6f);
  EXPECT_EQ(of(5, 7999), -0x1.e53c5p-11f);
}

TEST(MlpTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  std::vector<MlpShape> shapes = Shapes();
  shapes.push_back({1100, {530}, 6, Activation::kRelu, true});
  for (const MlpShape& shape : shapes) {
    for (const int64_t rows : shape.inputs > 1000 ? std::vector<int64_t>{3} : std::vector<int64_t>{1, 2, 600}) {
      const Example example(shape, rows, 5);
      const std::vector<float> expected = Reference(example).All();
      ForEachIsa([&] {
        const std::vector<float> actual = RunInBatches(example, {rows}).All();
        EXPECT_TRUE(BitEqual(expected, actual)) << rows << " rows of " << shape.inputs;
        EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, rows), actual));
      });
    }
  }
}

RC_GTEST_PROP(MlpTest, BatchBoundariesChangeNoBit, ()) {
  const MlpShape shape = *rc::gen::elementOf(Shapes());
  const int64_t rows = *rc::gen::inRange<int64_t>(1, 1300);
  const Example example(shape, rows, *rc::gen::arbitrary<uint32_t>());
  const int64_t a = *rc::gen::inRange<int64_t>(0, rows), b = *rc::gen::inRange<int64_t>(a, rows);
  const std::vector<float> whole = RunInBatches(example, {rows}).All();
  RC_ASSERT(BitEqual(whole, RunInBatches(example, {a, b, rows}).All()));
  RC_ASSERT(BitEqual(whole, RunInBatches(example, {a, rows, rows}).All()));
}

TEST(MlpTest, AShardWithoutRowsHasAGradientOfZeroAndNeedsNoForward) {
  const Example example({4, {7}, 2, Activation::kTanh, true}, 0, 3);
  std::vector<float> total(example.layout.total, NAN);
  MlpBuffers buffers;
  example.mlp.Backward({nullptr, 0, 4}, {nullptr, 0, 2}, {total.data(), nullptr, 0, true}, {}, &buffers);
  for (const float g : WithoutPadding(example.layout, total)) EXPECT_EQ(g, 0.0f);
}

TEST(MlpTest, ParametersTakeEffectWithRefresh) {
  Example example({4, {7}, 2, Activation::kTanh, true}, 3, 3);
  const Outcome before = RunInBatches(example, {3});
  for (float& w : example.parameters) w *= 0.5f;
  EXPECT_TRUE(BitEqual(before.All(), RunInBatches(example, {3}).All()));
  example.mlp.Refresh(example.parameters);
  EXPECT_TRUE(BitEqual(Reference(example).All(), RunInBatches(example, {3}).All()));
}

// sum over rows of dy . y in double, by obvious code, of parameters without padding.
double ExactLoss(const Example& example, const std::vector<double>& parameters, const std::vector<double>& x) {
  const MlpShape& shape = example.shape;
  double loss = 0;
  for (int64_t r = 0; r < example.rows; ++r) {
    std::vector<double> h(x.begin() + r * shape.inputs, x.begin() + (r + 1) * shape.inputs);
    auto next = parameters.begin();
    std::vector<int64_t> widths = shape.hidden;
    if (shape.outputs > 0) widths.push_back(shape.outputs);
    for (size_t l = 0; l < widths.size(); ++l) {
      std::vector<double> z(static_cast<size_t>(widths[l]));
      for (double& v : z) {
        for (const double input : h) v += *next++ * input;
      }
      for (double& v : z) v += *next++;
      if (l < shape.hidden.size() && shape.layer_norm) {
        const double n = static_cast<double>(z.size());
        double mean = 0, variance = 0;
        for (const double v : z) mean += v / n;
        for (const double v : z) variance += (v - mean) * (v - mean) / n;
        for (double& v : z) v = (v - mean) / std::sqrt(variance + 1e-5) * *next++;
        for (double& v : z) v += *next++;
      }
      for (double& v : z) {
        if (l < shape.hidden.size()) v = shape.activation == Activation::kRelu ? std::fmax(v, 0.0) : std::tanh(v);
      }
      h = z;
    }
    for (size_t i = 0; i < h.size(); ++i) loss += h[i] * example.dy[static_cast<size_t>(r) * h.size() + i];
  }
  return loss;
}

TEST(MlpTest, AgreesWithTheFunctionInDoubleAndItsFiniteDifferences) {
  for (const MlpShape& shape : Shapes()) {
    const Example example(shape, 3, 23);
    const Outcome outcome = RunInBatches(example, {3});
    const std::vector<float> floats = WithoutPadding(example.layout, example.parameters);
    std::vector<double> x(example.x.begin(), example.x.end()), parameters(floats.begin(), floats.end());
    double loss = 0;
    for (size_t i = 0; i < outcome.y.size(); ++i) loss += double{outcome.y[i]} * example.dy[i];
    EXPECT_NEAR(loss, ExactLoss(example, parameters, x), 2e-5);
    const auto expect_slopes = [&](std::vector<double>* inputs, const std::vector<float>& gradient) {
      for (size_t i = 0; i < inputs->size(); ++i) {
        constexpr double kStep = 1e-6;
        const double before = (*inputs)[i];
        (*inputs)[i] = before + kStep;
        const double up = ExactLoss(example, parameters, x);
        (*inputs)[i] = before - kStep;
        const double slope = (up - ExactLoss(example, parameters, x)) / (2 * kStep);
        (*inputs)[i] = before;
        EXPECT_NEAR(gradient[i], slope, 1e-4 * (1 + std::fabs(slope))) << i << " of " << shape.hidden.size();
      }
    };
    expect_slopes(&parameters, outcome.gradient);
    expect_slopes(&x, outcome.dx);
  }
}

}  // namespace
}  // namespace reprise::models
