#include "data/images/image_set.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise::data {
namespace {

constexpr std::array<double, 3> kMean = {0.4914, 0.4822, 0.4465}, kStd = {0.2470, 0.2435, 0.2616};

using NormalizedBytes = std::array<std::array<float, 256>, 3>;

const NormalizedBytes& Normalized() {
  static const NormalizedBytes bytes = [] {
    NormalizedBytes table;
    for (size_t channel = 0; channel < 3; ++channel) {
      for (size_t value = 0; value < 256; ++value) {
        const double share = static_cast<double>(value) / 255.0;
        table[channel][value] = static_cast<float>((share - kMean[channel]) / kStd[channel]);
      }
    }
    return table;
  }();
  return bytes;
}

constexpr double kTwoPi = 6.283185307179586;
constexpr int64_t kCoarse = 5;  // orientations of the coarse grating, from 0 to 90 degrees
constexpr double kCoarseWave = 9.0, kFineWave = 4.5;
constexpr double kCoarseHeight = 44.0, kFineHeight = 34.0, kNoise = 0.5;

// The colours in which a mode shows the two gratings.
constexpr double kCoarseColour[2][3] = {{1.0, 0.2, -0.6}, {-0.6, 0.2, 1.0}};
constexpr double kFineColour[2][3] = {{0.2, 1.0, 0.2}, {0.7, -0.7, 0.7}};

// A plane wave: its numbers of waves per pixel, and its phase.
struct Wave {
  double x = 0, y = 0, phase = 0, height = 0;

  double At(int64_t column, int64_t row) const {
    return height * kernels::Sin(kTwoPi * (x * static_cast<double>(column) + y * static_cast<double>(row)) + phase);
  }
};

Wave WaveOf(double degrees, bool is_mirrored, double length, double phase, double height) {
  const double angle = degrees * kTwoPi / 360.0;
  const double across = kernels::Cos(angle) / length;
  return {is_mirrored ? -across : across, kernels::Sin(angle) / length, phase, height};
}

// The draws of one image; the same index is the same draw.
struct ImageDraw {
  uint64_t seed = 0, index = 0;

  DrawAt At(uint64_t token) const { return {.step = index >> 24, .prompt = index & 0xffffff, .token = token}; }
  double Uniform(uint64_t token) const { return DrawUniform(seed, Purpose::kGeneratedExample, At(token)); }
  uint64_t Below(uint64_t token, uint64_t bound) const {
    return DrawBelow(seed, Purpose::kGeneratedExample, At(token), bound);
  }
};

constexpr uint64_t kFirstNoise = 16;  // token: one for each pixel, after the other draws

void DrawImage(const ImageDraw& draw, int64_t label, int64_t side, uint8_t* pixel_CHW) {
  const size_t mode = draw.Below(0, 2);
  // Mirrored waves belong to the same class, so that mirrored images do.
  const bool is_mirrored = draw.Below(1, 2) == 1;
  const int64_t coarse = (label % kCoarse + 2 * static_cast<int64_t>(mode)) % kCoarse;
  const int64_t fine = (label / kCoarse + static_cast<int64_t>(mode)) % 2;
  const double strength = 0.6 + 0.8 * draw.Uniform(2);
  const Wave coarse_wave = WaveOf(22.5 * static_cast<double>(coarse), is_mirrored, kCoarseWave,
                                  kTwoPi * draw.Uniform(3), strength * kCoarseHeight);
  const Wave fine_wave = WaveOf(90.0 * static_cast<double>(fine), is_mirrored, kFineWave, kTwoPi * draw.Uniform(4),
                                strength * kFineHeight);
  const size_t plane = static_cast<size_t>(side * side);
  for (int64_t row = 0; row < side; ++row) {
    for (int64_t column = 0; column < side; ++column) {
      const double coarse_height = coarse_wave.At(column, row), fine_height = fine_wave.At(column, row);
      const size_t at = static_cast<size_t>(row * side + column);
      const std::array<uint32_t, 4> bits =
          DrawBits(draw.seed, Purpose::kGeneratedExample, draw.At(kFirstNoise + static_cast<uint64_t>(at)));
      for (size_t channel = 0; channel < 3; ++channel) {
        const double noise =
            static_cast<double>(bits[channel] & 0xff) + static_cast<double>((bits[channel] >> 8) & 0xff) - 255.0;
        const double value = 128.0 + kCoarseColour[mode][channel] * coarse_height +
                             kFineColour[mode][channel] * fine_height + kNoise * noise;
        pixel_CHW[channel * plane + at] = static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
      }
    }
  }
}

}  // namespace

Augmentation AugmentationAt(uint64_t seed, Purpose purpose, const DrawAt& at) {
  constexpr uint64_t kPlaces = static_cast<uint64_t>(2 * kCropPadding + 1);
  const uint64_t drawn = DrawBelow(seed, purpose, at, kPlaces * kPlaces * 2);
  return {static_cast<int64_t>(drawn / 2 / kPlaces), static_cast<int64_t>(drawn / 2 % kPlaces), drawn % 2 == 1};
}

void NormalizeImage(const ImageSet& images, size_t n, const Augmentation& augmentation,
                    absl::Span<float> normalized_HWC) {
  const absl::Span<const uint8_t> pixel_CHW = images.image(n);
  CHECK_EQ(normalized_HWC.size(), pixel_CHW.size());
  const int64_t side = images.side;
  size_t to = 0;
  for (int64_t row = 0; row < side; ++row) {
    const int64_t from_row = row + augmentation.top - kCropPadding;
    for (int64_t column = 0; column < side; ++column) {
      // The window is cut first, and then mirrored.
      const int64_t in_window = augmentation.is_mirrored ? side - 1 - column : column;
      const int64_t from_column = in_window + augmentation.left - kCropPadding;
      const bool is_inside = from_row >= 0 && from_row < side && from_column >= 0 && from_column < side;
      for (int64_t channel = 0; channel < kImageChannels; ++channel, ++to) {
        const int64_t from = (channel * side + from_row) * side + from_column;
        normalized_HWC[to] = Normalized()[channel][is_inside ? pixel_CHW[from] : 0];
      }
    }
  }
}

ImageSet GeneratedImages(uint64_t seed, int64_t side, int64_t first, int64_t count) {
  ImageSet images = {.side = side};
  images.pixel_NCHW.resize(static_cast<size_t>(count) * images.image_bytes());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t index = first + n, label = index % kImageClasses;
    images.label_N.push_back(static_cast<uint8_t>(label));
    DrawImage({seed, static_cast<uint64_t>(index)}, label, side,
              images.pixel_NCHW.data() + static_cast<size_t>(n) * images.image_bytes());
  }
  return images;
}

}  // namespace reprise::data
