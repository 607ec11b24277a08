#include "kernels/images/patches.h"

#include <algorithm>
#include <cstring>

namespace reprise::kernels {
namespace {

// Loops over few channels are fast only if their number is a constant; 0 stands for any other number.
template <typename Loop>
void WithChannels(int64_t channels, const Loop& loop) {
  switch (channels) {
    case 3:
      return loop.template operator()<3>();
    case 4:
      return loop.template operator()<4>();
    case 8:
      return loop.template operator()<8>();
    case 16:
      return loop.template operator()<16>();
    case 32:
      return loop.template operator()<32>();
    default:
      return loop.template operator()<0>();
  }
}

// Copies the pixels of one line of the window around column x; `line` is the image's line, null if it is outside.
template <int64_t kChannels>
void GatherLine(const float* line, int64_t x, int64_t width, int64_t channels, float* patch) {
  const int64_t c = kChannels > 0 ? kChannels : channels;
  if (line != nullptr && x > 0 && x + 1 < width) {
    std::memcpy(patch, line + (x - 1) * c, static_cast<size_t>(3 * c) * sizeof(float));
    return;
  }
  const size_t bytes = static_cast<size_t>(c) * sizeof(float);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t from = x + i - 1;
    if (line != nullptr && from >= 0 && from < width) {
      std::memcpy(patch + i * c, line + from * c, bytes);
    } else {
      std::memset(patch + i * c, 0, bytes);
    }
  }
}

template <int64_t kChannels>
void Gather(const ImageRows& shape, const float* x, float* patches) {
  const int64_t c = kChannels > 0 ? kChannels : shape.channels, line = shape.width * c;
  for (int64_t image = 0; image < shape.images; ++image, x += shape.height * line) {
    for (int64_t row = 0; row < shape.height; ++row) {
      const float* const lines[] = {row > 0 ? x + (row - 1) * line : nullptr, x + row * line,
                                    row + 1 < shape.height ? x + (row + 1) * line : nullptr};
      for (int64_t column = 0; column < shape.width; ++column, patches += kTaps * c) {
        for (int64_t i = 0; i < 3; ++i) {
          GatherLine<kChannels>(lines[i], column, shape.width, c, patches + 3 * i * c);
        }
      }
    }
  }
}

template <int64_t kChannels>
void Scatter(const ImageRows& shape, const float* dpatches, float* dx) {
  const int64_t c = kChannels > 0 ? kChannels : shape.channels, patch = kTaps * c;
  for (int64_t image = 0; image < shape.images; ++image, dpatches += shape.pixels() * patch) {
    for (int64_t y = 0; y < shape.height; ++y) {
      for (int64_t x = 0; x < shape.width; ++x, dx += c) {
        std::fill_n(dx, c, 0.0f);
        // Pixel `from` of the window around (y, x) has (y, x) at the opposite tap of its own window.
        ForTaps(shape, y, x, [&](int64_t tap, int64_t from) {
          const float* const d = dpatches + from * patch + (kTaps - 1 - tap) * c;
          for (int64_t j = 0; j < c; ++j) dx[j] += d[j];
        });
      }
    }
  }
}

}  // namespace

void GatherPatches(const ImageRows& shape, const float* x, float* patches) {
  WithChannels(shape.channels, [&]<int64_t kChannels>() { Gather<kChannels>(shape, x, patches); });
}

void ScatterPatches(const ImageRows& shape, const float* dpatches, float* dx) {
  WithChannels(shape.channels, [&]<int64_t kChannels>() { Scatter<kChannels>(shape, dpatches, dx); });
}

}  // namespace reprise::kernels
