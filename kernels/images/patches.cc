#include "kernels/images/patches.h"

#include <algorithm>

namespace reprise::kernels {

void GatherPatches(const ImageRows& shape, const float* x, float* patches) {
  const int64_t c = shape.channels;
  for (int64_t image = 0; image < shape.images; ++image, x += shape.pixels() * c) {
    for (int64_t row = 0; row < shape.pixels(); ++row, patches += kTaps * c) {
      std::fill_n(patches, kTaps * c, 0.0f);
      ForTaps(shape, row / shape.width, row % shape.width,
              [&](int64_t tap, int64_t from) { std::copy_n(x + from * c, c, patches + tap * c); });
    }
  }
}

void ScatterPatches(const ImageRows& shape, const float* dpatches, float* dx) {
  const int64_t c = shape.channels, patch = kTaps * c;
  for (int64_t image = 0; image < shape.images; ++image, dpatches += shape.pixels() * patch) {
    for (int64_t row = 0; row < shape.pixels(); ++row, dx += c) {
      std::fill_n(dx, c, 0.0f);
      // Pixel `from` of the window around `row` has `row` at the opposite tap of its own window.
      ForTaps(shape, row / shape.width, row % shape.width, [&](int64_t tap, int64_t from) {
        const float* const d = dpatches + from * patch + (kTaps - 1 - tap) * c;
        for (int64_t j = 0; j < c; ++j) dx[j] += d[j];
      });
    }
  }
}

}  // namespace reprise::kernels
