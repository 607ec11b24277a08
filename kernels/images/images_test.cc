// Each function against the obvious loop, written from its header: the bits.

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "kernels/images/depthwise.h"
#include "kernels/images/image_rows.h"
#include "kernels/images/patches.h"
#include "kernels/images/pooling.h"
#include "kernels/images/segment_norm.h"

namespace reprise::kernels {
namespace {

using Floats = std::vector<float>;

Floats Random(int64_t n, uint64_t salt) {
  Floats values;
  for (int64_t i = 0; i < n; ++i) {
    const DrawAt at = {.step = salt, .token = static_cast<uint64_t>(i)};
    values.push_back(static_cast<float>(2 * DrawUniform(1, Purpose::kTest, at) - 1));
  }
  return values;
}

Floats Zeros(int64_t n) { return Floats(static_cast<size_t>(n)); }

void ExpectSameBits(const Floats& ours, const Floats& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  if (ours.empty()) return;  // memcmp takes no null pointer
  EXPECT_EQ(std::memcmp(ours.data(), expected.data(), ours.size() * sizeof(float)), 0);
}

const ImageRows kShapes[] = {{2, 4, 4, 3},  {1, 5, 3, 8},  {3, 1, 1, 1}, {0, 2, 2, 2},
                             {2, 7, 6, 17}, {1, 4, 5, 16}, {1, 3, 3, 32}};

// The element of an image with coordinates that may be outside of it: null.
const float* At(const ImageRows& s, const Floats& x, int64_t image, int64_t y, int64_t column, int64_t channel) {
  if (y < 0 || y >= s.height || column < 0 || column >= s.width) return nullptr;
  return &x[((image * s.height + y) * s.width + column) * s.channels + channel];
}

template <typename Visit>
void ForElements(const ImageRows& s, const Visit& visit) {
  for (int64_t i = 0; i < s.images; ++i) {
    for (int64_t y = 0; y < s.height; ++y) {
      for (int64_t x = 0; x < s.width; ++x) {
        for (int64_t c = 0; c < s.channels; ++c) visit(i, y, x, c);
      }
    }
  }
}

TEST(PatchesTest, AreTheWindowsAroundPixelsPaddedWithZeros) {
  for (const ImageRows& s : kShapes) {
    const Floats x = Random(s.size(), 1);
    Floats patches = Random(9 * s.size(), 2), expected;
    GatherPatches(s, x.data(), patches.data());
    for (int64_t i = 0; i < s.images; ++i) {
      for (int64_t row = 0; row < s.pixels(); ++row) {
        for (int64_t k = 0; k < 9 * s.channels; ++k) {
          const int64_t tap = k / s.channels;
          const float* const at = At(s, x, i, row / s.width + tap / 3 - 1, row % s.width + tap % 3 - 1, k % s.channels);
          expected.push_back(at == nullptr ? 0.0f : *at);
        }
      }
    }
    ExpectSameBits(patches, expected);
  }
}

TEST(PatchesTest, GradientsAddTheWindowsInOrderOfTheirCentres) {
  for (const ImageRows& s : kShapes) {
    const Floats d = Random(9 * s.size(), 3);
    const ImageRows wide = {s.images, s.height, s.width, 9 * s.channels};
    Floats dx = Random(s.size(), 4), expected;
    ScatterPatches(s, d.data(), dx.data());
    ForElements(s, [&](int64_t i, int64_t y, int64_t x, int64_t c) {
      float sum = 0;
      for (int64_t dy = -1; dy <= 1; ++dy) {
        for (int64_t dx_ = -1; dx_ <= 1; ++dx_) {
          const int64_t tap = (1 - dy) * 3 + 1 - dx_;
          const float* const at = At(wide, d, i, y + dy, x + dx_, tap * s.channels + c);
          if (at != nullptr) sum += *at;
        }
      }
      expected.push_back(sum);
    });
    ExpectSameBits(dx, expected);
  }
}

TEST(DepthwiseTest, AddsTapsInOrder) {
  for (const ImageRows& s : kShapes) {
    const Floats x = Random(s.size(), 5), w = Random(9 * s.channels, 6);
    Floats y = Random(s.size(), 7), expected;
    Depthwise(s, x.data(), w.data(), y.data());
    ForElements(s, [&](int64_t i, int64_t row, int64_t column, int64_t c) {
      float sum = 0;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const float* const at = At(s, x, i, row + tap / 3 - 1, column + tap % 3 - 1, c);
        if (at != nullptr) sum += w[tap * s.channels + c] * *at;
      }
      expected.push_back(sum);
    });
    ExpectSameBits(y, expected);
  }
}

TEST(DepthwiseTest, GradientsAreThoseOfTheBilinearForm) {
  for (const ImageRows& s : kShapes) {
    const Floats x = Random(s.size(), 8), w = Random(9 * s.channels, 9), dy = Random(s.size(), 10);
    Floats dx = Random(s.size(), 11), dw = Random(9 * s.channels, 12), dx_expected;
    DepthwiseInputGradient(s, dy.data(), w.data(), dx.data());
    DepthwiseWeightGradient(s, dy.data(), x.data(), dw.data());
    ForElements(s, [&](int64_t i, int64_t row, int64_t column, int64_t c) {
      float sum = 0;
      for (int64_t from = 0; from < 9; ++from) {
        const float* const at = At(s, dy, i, row + from / 3 - 1, column + from % 3 - 1, c);
        if (at != nullptr) sum += w[(8 - from) * s.channels + c] * *at;
      }
      dx_expected.push_back(sum);
    });
    ExpectSameBits(dx, dx_expected);
    std::vector<double> sums(dw.size());
    for (int64_t tap = 0; tap < 9; ++tap) {
      ForElements(s, [&](int64_t i, int64_t row, int64_t column, int64_t c) {
        const float* const at = At(s, x, i, row + tap / 3 - 1, column + tap % 3 - 1, c);
        const double d = static_cast<double>(*At(s, dy, i, row, column, c));
        if (at != nullptr) sums[tap * s.channels + c] += d * static_cast<double>(*at);
      });
    }
    ExpectSameBits(dw, Floats(sums.begin(), sums.end()));
  }
}

TEST(MaxPoolTest, TakesTheFirstGreatestOfAWindow) {
  const ImageRows s = {1, 3, 5, 1};  // the last line and column belong to no window
  const Floats x = {1, 2, 5, 5, 9,   //
                    2, 0, 5, 5, 9,   //
                    9, 9, 9, 9, 9};
  Floats y = Zeros(2), dx = Random(15, 1);
  std::vector<uint8_t> chosen(2);
  MaxPool(s, x.data(), y.data(), chosen.data());
  EXPECT_EQ(y, (Floats{2, 5}));
  EXPECT_EQ(chosen, (std::vector<uint8_t>{1, 0}));
  const Floats dy = {3, 4};
  MaxPoolBackward(s, dy.data(), chosen.data(), dx.data());
  Floats expected = Zeros(15);
  expected[1] = 3;
  expected[2] = 4;
  ExpectSameBits(dx, expected);
}

TEST(MaxPoolTest, IsThatOfEachChannel) {
  for (const ImageRows& s : kShapes) {
    const ImageRows half = {s.images, s.height / 2, s.width / 2, s.channels};
    const Floats x = Random(s.size(), 13), dy = Random(half.size(), 14);
    Floats y = Zeros(half.size()), dx = Random(s.size(), 15), y_expected, dx_expected = Zeros(s.size());
    std::vector<uint8_t> chosen(y.size()), chosen_expected;
    MaxPool(s, x.data(), y.data(), chosen.data());
    MaxPoolBackward(s, dy.data(), chosen.data(), dx.data());
    ForElements(half, [&](int64_t i, int64_t row, int64_t column, int64_t c) {
      int64_t best = 0;
      const auto at = [&](int64_t place) { return At(s, x, i, 2 * row + place / 2, 2 * column + place % 2, c); };
      for (int64_t place = 1; place < 4; ++place) best = *at(place) > *at(best) ? place : best;
      dx_expected[at(best) - x.data()] = dy[y_expected.size()];
      y_expected.push_back(*at(best));
      chosen_expected.push_back(static_cast<uint8_t>(best));
    });
    ExpectSameBits(y, y_expected);
    EXPECT_EQ(chosen, chosen_expected);
    ExpectSameBits(dx, dx_expected);
  }
}

TEST(MaxPoolTest, PassesOnTheFirstNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Floats x = {1, nan, nan, 2};
  Floats y = Zeros(1);
  std::vector<uint8_t> chosen(1);
  MaxPool({1, 2, 2, 1}, x.data(), y.data(), chosen.data());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(chosen[0], 1);
}

struct NormCase {
  NormShape shape;
  Floats x, gain, bias, dy;

  explicit NormCase(const NormShape& s)
      : shape(s),
        x(Random(s.segments * s.rows * s.channels, 20)),
        gain(Random(s.channels, 21)),
        bias(Random(s.channels, 22)),
        dy(Random(s.segments * s.rows * s.channels, 23)) {}

  int64_t width() const { return shape.channels / shape.groups; }
  size_t Index(int64_t s, int64_t r, int64_t c) const {
    return static_cast<size_t>((s * shape.rows + r) * shape.channels + c);
  }
  // The sum over a group of a segment: channels' sums over rows, then over channels.
  template <typename Term>
  double GroupSum(int64_t s, int64_t g, const Term& term) const {
    double total = 0;
    for (int64_t c = g * width(); c < (g + 1) * width(); ++c) {
      double sum = 0;
      for (int64_t r = 0; r < shape.rows; ++r) sum += term(Index(s, r, c), static_cast<size_t>(c));
      total += sum;
    }
    return total;
  }
};

const NormShape kNormShapes[] = {{1, 50, 8, 8}, {3, 16, 12, 3}, {2, 9, 17, 1}, {4, 1, 6, 2}};

TEST(SegmentNormTest, NormalisesEachGroupOfEachSegment) {
  for (const NormShape& shape : kNormShapes) {
    const NormCase c(shape);
    Floats y = Zeros(static_cast<int64_t>(c.x.size())), normal = y;
    Floats mean = Zeros(shape.segments * shape.groups), variance = mean, inverse = mean;
    SegmentNorm(shape, c.x.data(), c.gain.data(), c.bias.data(),
                {y.data(), normal.data(), mean.data(), variance.data(), inverse.data()});
    const double n = static_cast<double>(shape.rows * c.width());
    for (int64_t s = 0; s < shape.segments; ++s) {
      for (int64_t g = 0; g < shape.groups; ++g) {
        const double m = c.GroupSum(s, g, [&](size_t i, size_t) { return static_cast<double>(c.x[i]); }) / n;
        const double v = c.GroupSum(s, g, [&](size_t i, size_t) {
          const double d = static_cast<double>(c.x[i]) - m;
          return d * d;
        }) / n;
        const size_t at = static_cast<size_t>(s * shape.groups + g);
        const float inv = static_cast<float>(1 / std::sqrt(v + shape.eps));
        EXPECT_EQ(mean[at], static_cast<float>(m));
        EXPECT_EQ(variance[at], static_cast<float>(v));
        EXPECT_EQ(inverse[at], inv);
        c.GroupSum(s, g, [&](size_t i, size_t channel) {
          const float expected = (c.x[i] - static_cast<float>(m)) * inv;
          EXPECT_EQ(normal[i], expected);
          EXPECT_EQ(y[i], expected * c.gain[channel] + c.bias[channel]);
          return 0.0;
        });
      }
    }
  }
}

TEST(SegmentNormTest, UsesGivenStatisticsForAllSegments) {
  const NormShape shape = {2, 3, 4, 2};
  const NormCase c(shape);
  const Floats mean = {0.25f, -0.5f}, inverse = {2, 3};
  Floats y = Zeros(24);
  NormWithStatistics(shape, c.x.data(), c.gain.data(), c.bias.data(), mean.data(), inverse.data(), y.data());
  for (size_t i = 0; i < 24; ++i) {
    const size_t channel = i % 4, g = channel / 2;
    EXPECT_EQ(y[i], (c.x[i] - mean[g]) * inverse[g] * c.gain[channel] + c.bias[channel]);
  }
}

// The gradient by the formula of the header, in another arrangement and in double.
TEST(SegmentNormTest, GradientsAreThoseOfTheFormula) {
  for (const NormShape& shape : kNormShapes) {
    const NormCase c(shape);
    Floats y = Zeros(static_cast<int64_t>(c.x.size())), normal = y, dx = y;
    Floats mean = Zeros(shape.segments * shape.groups), variance = mean, inverse = mean;
    Floats dgain = Zeros(shape.channels), dbias = dgain;
    SegmentNorm(shape, c.x.data(), c.gain.data(), c.bias.data(),
                {y.data(), normal.data(), mean.data(), variance.data(), inverse.data()});
    SegmentNormBackward(shape, c.dy.data(), normal.data(), inverse.data(), c.gain.data(),
                        {dx.data(), dgain.data(), dbias.data()});
    const double n = static_cast<double>(shape.rows * c.width());
    std::vector<double> of_gain(dgain.size()), of_bias(dgain.size());
    for (int64_t s = 0; s < shape.segments; ++s) {
      for (int64_t g = 0; g < shape.groups; ++g) {
        const auto h = [&](size_t i, size_t k) {
          return static_cast<double>(c.dy[i]) * static_cast<double>(c.gain[k]);
        };
        const double a = c.GroupSum(s, g, h) / n;
        const double b =
            c.GroupSum(s, g, [&](size_t i, size_t k) { return h(i, k) * static_cast<double>(normal[i]); }) / n;
        const double inv = static_cast<double>(inverse[s * shape.groups + g]);
        c.GroupSum(s, g, [&](size_t i, size_t k) {
          EXPECT_NEAR(dx[i], (h(i, k) - a - static_cast<double>(normal[i]) * b) * inv, 1e-5);
          of_gain[k] += static_cast<double>(c.dy[i]) * static_cast<double>(normal[i]);
          of_bias[k] += static_cast<double>(c.dy[i]);
          return 0.0;
        });
      }
    }
    for (size_t k = 0; k < dgain.size(); ++k) {
      EXPECT_NEAR(dgain[k], of_gain[k], 1e-5);
      EXPECT_NEAR(dbias[k], of_bias[k], 1e-5);
    }
  }
}

}  // namespace
}  // namespace reprise::kernels
