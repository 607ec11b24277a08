#include "kernels/rows/lstm_cell.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/math/vector_math.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

struct Cell {
  std::vector<float> gates, c_before, c, tanh_c, h, dh, dc, dgates;
};

Cell Inputs(int64_t n, uint64_t seed) {
  Cell cell;
  cell.gates = RandomNormals(4 * n, seed, 2.0f);
  cell.c_before = RandomNormals(n, seed + 1);
  cell.dh = RandomNormals(n, seed + 2);
  cell.dc = RandomNormals(n, seed + 3);
  for (std::vector<float>* const part : {&cell.c, &cell.tanh_c, &cell.h}) part->resize(n, NAN);
  cell.dgates.resize(4 * n, NAN);
  return cell;
}

Cell Computed(Cell cell, int64_t n) {
  LstmCell(n, cell.gates.data(), cell.c_before.data(), cell.c.data(), cell.tanh_c.data(), cell.h.data());
  LstmCellBackward(n, {cell.gates.data(), cell.c_before.data(), cell.tanh_c.data()}, cell.dh.data(), cell.dc.data(),
                   cell.dgates.data());
  return cell;
}

float SigmoidOf(float x) {
  Sigmoid(&x, &x, 1);
  return x;
}

float TanhOf(float x) {
  Tanh(&x, &x, 1);
  return x;
}

// Written from the header: element by element.
Cell Reference(Cell cell, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    float* const a = cell.gates.data() + j;
    const float i = a[0] = SigmoidOf(a[0]), f = a[n] = SigmoidOf(a[n]);
    const float g = a[2 * n] = TanhOf(a[2 * n]), o = a[3 * n] = SigmoidOf(a[3 * n]);
    const float ig = i * g;
    cell.c[j] = std::fma(f, cell.c_before[j], ig);
    const float t = cell.tanh_c[j] = TanhOf(cell.c[j]);
    cell.h[j] = o * t;
    const float through = cell.dh[j] * o, slope = std::fma(-t, t, 1.0f);
    const float e = std::fma(through, slope, cell.dc[j]);
    const float si = i * (1.0f - i), sf = f * (1.0f - f), so = o * (1.0f - o), sg = std::fma(-g, g, 1.0f);
    const float eg = e * g, ec = e * cell.c_before[j], ei = e * i, dt = cell.dh[j] * t;
    cell.dgates[j] = eg * si;
    cell.dgates[n + j] = ec * sf;
    cell.dgates[2 * n + j] = ei * sg;
    cell.dgates[3 * n + j] = dt * so;
    cell.dc[j] = e * f;
  }
  return cell;
}

TEST(LstmCellTest, HasTheBitsOfTheScalarReferenceOnEachInstructionSet) {
  ForEachIsa([] {
    for (const int64_t n : {0, 1, 7, 16, 33, 128}) {
      const Cell inputs = Inputs(n, 10 + static_cast<uint64_t>(n));
      const Cell expected = Reference(inputs, n), cell = Computed(inputs, n);
      EXPECT_TRUE(BitEqual(expected.gates, cell.gates));
      EXPECT_TRUE(BitEqual(expected.c, cell.c));
      EXPECT_TRUE(BitEqual(expected.h, cell.h));
      EXPECT_TRUE(BitEqual(expected.dgates, cell.dgates));
      EXPECT_TRUE(BitEqual(expected.dc, cell.dc));
      if (n == 0) continue;
      EXPECT_FALSE(BitEqual(expected.dgates, WithOneBitFlipped(cell.dgates, n - 1)));
    }
  });
}

// All gates are 0 before their activations: i = f = o = 1/2, g = 0, so c = c_before / 2.
TEST(LstmCellTest, HalvesTheCellWhereItsGatesAreZero) {
  std::vector<float> gates(4, 0.0f);
  float c = 1.0f, tanh_c = 0, h = 0, dc = 0, dh = 1;
  std::vector<float> dgates(4);
  const float before = c;
  LstmCell(1, gates.data(), &c, &c, &tanh_c, &h);
  EXPECT_EQ(c, 0.5f);
  EXPECT_NEAR(h, 0.5 * 0.46211715726, 1e-7);
  LstmCellBackward(1, {gates.data(), &before, &tanh_c}, &dh, &dc, dgates.data());
  const double e = 0.5 * (1 - 0.46211715726 * 0.46211715726);
  EXPECT_EQ(dgates[0], 0.0f);  // of the input gate, whose candidate is 0
  EXPECT_NEAR(dgates[1], e * 0.25, 1e-7);
  EXPECT_NEAR(dgates[2], e * 0.5, 1e-7);
  EXPECT_NEAR(dgates[3], 0.46211715726 * 0.25, 1e-7);
  EXPECT_NEAR(dc, e * 0.5, 1e-7);
}

// The loss is the sum of h weights and c other weights.
TEST(LstmCellTest, TheGradientIsThatOfFiniteDifferences) {
  constexpr int64_t n = 3;
  const Cell inputs = Inputs(n, 77), cell = Computed(inputs, n);
  const auto loss = [&](const std::vector<float>& gates, const std::vector<float>& c_before) {
    Cell moved = inputs;
    moved.gates = gates;
    moved.c_before = c_before;
    LstmCell(n, moved.gates.data(), moved.c_before.data(), moved.c.data(), moved.tanh_c.data(), moved.h.data());
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      sum += static_cast<double>(inputs.dh[j]) * moved.h[j] + static_cast<double>(inputs.dc[j]) * moved.c[j];
    }
    return sum;
  };
  const float step = 1e-2f;
  const auto slope = [&](std::vector<float> Cell::* part, int64_t at) {
    Cell low = inputs, high = inputs;
    (low.*part)[at] -= step;
    (high.*part)[at] += step;
    return (loss(high.gates, high.c_before) - loss(low.gates, low.c_before)) / (2 * static_cast<double>(step));
  };
  for (int64_t k = 0; k < 4 * n; ++k) EXPECT_NEAR(cell.dgates[k], slope(&Cell::gates, k), 2e-4) << k;
  for (int64_t k = 0; k < n; ++k) EXPECT_NEAR(cell.dc[k], slope(&Cell::c_before, k), 2e-4) << k;
}

}  // namespace
}  // namespace reprise::kernels
