#include "kernels/images/patches.h"

#include <algorithm>

namespace reprise::kernels {
namespace {

// Taps of one line of the window whose pixels are next to each other, and their first pixel.
struct Run {
  int64_t first_tap = 0, taps = 0, from = 0;
};

Run RunOf(const ImageRows& shape, int64_t y, int64_t x, int64_t line) {
  const int64_t at_y = y + line - 1;
  if (at_y < 0 || at_y >= shape.height) return {};
  const int64_t begin = x > 0 ? -1 : 0, end = x + 1 < shape.width ? 1 : 0;
  return {3 * line + begin + 1, end - begin + 1, at_y * shape.width + x + begin};
}

}  // namespace

void GatherPatches(const ImageRows& shape, const float* x, float* patches) {
  const int64_t c = shape.channels;
  for (int64_t image = 0; image < shape.images; ++image, x += shape.pixels() * c) {
    for (int64_t row = 0; row < shape.pixels(); ++row, patches += kTaps * c) {
      for (int64_t line = 0; line < 3; ++line) {
        const Run run = RunOf(shape, row / shape.width, row % shape.width, line);
        if (run.taps < 3) std::fill_n(patches + 3 * line * c, 3 * c, 0.0f);
        std::copy_n(x + run.from * c, run.taps * c, patches + run.first_tap * c);
      }
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
