#include "models/heads/lstm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::models {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

constexpr int64_t kInputs = 3, kWidth = 5;

// A network, its parameters, and sequences of rows with gradients of the outputs.
struct Example {
  Example(std::vector<int64_t> lengths, int64_t chunk)
      : lstm(kInputs, kWidth, chunk, "lstm", &layout), length_S(std::move(lengths)), parameters(layout.total, NAN) {
    uint64_t seed = 40;
    for (const ParameterSpec& spec : layout.specs) {
      const std::vector<float> values = RandomNormals(spec.size, seed++, 0.6f);
      std::copy(values.begin(), values.end(), parameters.begin() + spec.offset);
    }
    lstm.Refresh(parameters);
    for (const int64_t length : length_S) rows += length;
    x = RandomNormals(rows * kInputs, 90);
    dy = RandomNormals(rows * kWidth, 91);
  }

  FlatLayout layout;
  Lstm lstm;
  std::vector<int64_t> length_S;
  int64_t rows = 0;
  std::vector<float> parameters, x, dy;
};

struct Outcome {
  std::vector<float> y, dx, gradient;  // the last without the layout's padding
};

// Runs all sequences, `sequences` of them in each batch.
Outcome RunBatches(const Example& e, size_t sequences) {
  Outcome outcome = {std::vector<float>(e.rows * kWidth), std::vector<float>(e.rows * kInputs), {}};
  std::vector<float> total(e.layout.total), open(e.layout.total);
  LstmBuffers buffers;
  int64_t first = 0;
  for (size_t s = 0; s < e.length_S.size(); s += sequences) {
    const absl::Span<const int64_t> lengths = absl::MakeConstSpan(e.length_S).subspan(s, sequences);
    int64_t rows = 0;
    for (const int64_t length : lengths) rows += length;
    const kernels::ConstRows x = {e.x.data() + first * kInputs, rows, kInputs};
    e.lstm.Forward(x, lengths, {outcome.y.data() + first * kWidth, rows, kWidth}, &buffers);
    e.lstm.Backward(x, lengths, {e.dy.data() + first * kWidth, rows, kWidth},
                    {total.data(), open.data(), first, first + rows == e.rows},
                    {outcome.dx.data() + first * kInputs, rows, kInputs}, &buffers);
    first += rows;
  }
  for (const ParameterSpec& spec : e.layout.specs) {
    outcome.gradient.insert(outcome.gradient.end(), total.begin() + spec.offset,
                            total.begin() + spec.offset + spec.size);
  }
  return outcome;
}

// The equations of the header in double, element by element. Where `frozen` is not empty, the states before the rows
// that begin a chunk are the frozen ones; otherwise they are computed, and kept in `kept`.
using States = std::map<int64_t, std::array<std::vector<double>, 2>>;  // hidden and cell, by row

std::vector<double> Reference(const Example& e, const std::vector<double>& parameters, const std::vector<double>& x,
                              int64_t chunk, const States& frozen, States* kept) {
  const auto part = [&](size_t spec) { return parameters.data() + e.layout.specs[spec].offset; };
  const double *const w = part(0), *const u = part(1), *const b = part(2), *const gain = part(3), *const bias = part(4);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<double> y;
  int64_t row = 0;
  for (const int64_t length : e.length_S) {
    std::vector<double> h(kWidth, 0.0), c(kWidth, 0.0);
    for (int64_t t = 0; t < length; ++t, ++row) {
      if (t % chunk == 0) {
        if (kept != nullptr) (*kept)[row] = {h, c};
        if (!frozen.empty()) h = frozen.at(row)[0], c = frozen.at(row)[1];
      }
      std::vector<double> a(b, b + 4 * kWidth);
      for (int64_t k = 0; k < 4 * kWidth; ++k) {
        for (int64_t i = 0; i < kInputs; ++i) a[k] += w[k * kInputs + i] * x[row * kInputs + i];
        for (int64_t i = 0; i < kWidth; ++i) a[k] += u[k * kWidth + i] * h[i];
      }
      double mean = 0, variance = 0;
      for (int64_t j = 0; j < kWidth; ++j) {
        c[j] = sigmoid(a[kWidth + j]) * c[j] + sigmoid(a[j]) * std::tanh(a[2 * kWidth + j]);
        h[j] = sigmoid(a[3 * kWidth + j]) * std::tanh(c[j]);
        mean += h[j] / kWidth;
      }
      for (int64_t j = 0; j < kWidth; ++j) variance += (h[j] - mean) * (h[j] - mean) / kWidth;
      for (int64_t j = 0; j < kWidth; ++j) y.push_back((h[j] - mean) / std::sqrt(variance + 1e-5) * gain[j] + bias[j]);
    }
  }
  return y;
}

TEST(LstmTest, OutputsAreThoseOfTheEquationsInDouble) {
  const Example e({4, 1, 6}, 3);
  const std::vector<double> expected =
      Reference(e, {e.parameters.begin(), e.parameters.end()}, {e.x.begin(), e.x.end()}, 3, {}, nullptr);
  const Outcome outcome = RunBatches(e, 3);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outcome.y[i], expected[i], 5e-6) << i;
}

// With chunks, the gradient is that of a function whose states before chunks are constants.
TEST(LstmTest, TheGradientIsThatOfFiniteDifferencesWithinChunks) {
  for (const int64_t chunk : {1, 3, 25}) {
    const Example e({5, 1, 7}, chunk);
    const std::vector<double> parameters(e.parameters.begin(), e.parameters.end()), x(e.x.begin(), e.x.end());
    States frozen;
    Reference(e, parameters, x, chunk, {}, &frozen);
    const auto loss = [&](const std::vector<double>& p, const std::vector<double>& inputs) {
      const std::vector<double> y = Reference(e, p, inputs, chunk, frozen, nullptr);
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += y[i] * static_cast<double>(e.dy[i]);
      return sum;
    };
    const Outcome outcome = RunBatches(e, 3);
    constexpr double kStep = 1e-5;
    size_t next = 0;
    for (const ParameterSpec& spec : e.layout.specs) {
      for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
        std::vector<double> low = parameters, high = parameters;
        low[i] -= kStep;
        high[i] += kStep;
        const double slope = (loss(high, x) - loss(low, x)) / (2 * kStep);
        ASSERT_NEAR(outcome.gradient[next++], slope, 2e-5 + 2e-5 * std::fabs(slope)) << spec.name << " chunk " << chunk;
      }
    }
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<double> low = x, high = x;
      low[i] -= kStep;
      high[i] += kStep;
      const double slope = (loss(parameters, high) - loss(parameters, low)) / (2 * kStep);
      ASSERT_NEAR(outcome.dx[i], slope, 2e-5 + 2e-5 * std::fabs(slope)) << "x " << i << " chunk " << chunk;
    }
  }
}

TEST(LstmTest, BatchesAndInstructionSetsChangeNoBit) {
  const Example e({4, 30, 2, 1, 9}, 7);
  const Outcome whole = RunBatches(e, 5);
  ForEachIsa([&] {
    for (const size_t sequences : {1, 2, 5}) {
      const Outcome cut = RunBatches(e, sequences);
      EXPECT_TRUE(BitEqual(whole.y, cut.y));
      EXPECT_TRUE(BitEqual(whole.dx, cut.dx));
      EXPECT_TRUE(BitEqual(whole.gradient, cut.gradient));
      EXPECT_FALSE(BitEqual(whole.gradient, WithOneBitFlipped(cut.gradient, 11)));
    }
  });
}

TEST(LstmTest, RowByRowHasTheBitsOfTheWholeSequence) {
  const Example e({6, 3}, 2);
  const Outcome whole = RunBatches(e, 2);
  std::vector<float> y(e.rows * kWidth);
  int64_t row = 0;
  for (const int64_t length : e.length_S) {
    LstmState state;
    for (int64_t t = 0; t < length; ++t, ++row) {
      e.lstm.Next({e.x.data() + row * kInputs, 1, kInputs}, &state, {y.data() + row * kWidth, 1, kWidth});
    }
  }
  EXPECT_TRUE(BitEqual(whole.y, y));
}

TEST(LstmTest, InitialForgetGatesHaveABiasOfOne) {
  FlatLayout layout;
  const Lstm lstm(kInputs, kWidth, 25, "lstm", &layout);
  std::vector<float> parameters(layout.total, 7.0f);
  lstm.Initialize(3, InitialWeights::kOrthogonal, absl::MakeSpan(parameters));
  const ParameterSpec& bias = layout.specs[2];
  EXPECT_EQ(bias.name, "lstm.bias");
  for (int64_t k = 0; k < 4 * kWidth; ++k) {
    EXPECT_EQ(parameters[bias.offset + k], k / kWidth == 1 ? 1.0f : 0.0f) << k;
  }
}

}  // namespace
}  // namespace reprise::models
