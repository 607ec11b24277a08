#include "kernels/images/pooling.h"

#include <algorithm>

namespace reprise::kernels {
namespace {

// Calls visit(first element of the window in x, first element of the window's output).
template <typename Visit>
void ForWindows(const ImageRows& shape, const Visit& visit) {
  const int64_t c = shape.channels;
  int64_t to = 0;
  for (int64_t image = 0; image < shape.images; ++image) {
    for (int64_t y = 0; y < shape.height / 2; ++y) {
      for (int64_t x = 0; x < shape.width / 2; ++x, to += c) {
        visit((image * shape.pixels() + 2 * y * shape.width + 2 * x) * c, to);
      }
    }
  }
}

int64_t OffsetOf(const ImageRows& shape, int place) { return (place / 2 * shape.width + place % 2) * shape.channels; }

}  // namespace

void MaxPool(const ImageRows& shape, const float* x, float* y, uint8_t* chosen) {
  const int64_t c = shape.channels;
  ForWindows(shape, [&](int64_t from, int64_t to) {
    std::copy_n(x + from, c, y + to);
    std::fill_n(chosen + to, c, uint8_t{0});
    for (int place = 1; place < 4; ++place) {
      const float* const candidate = x + from + OffsetOf(shape, place);
      for (int64_t j = 0; j < c; ++j) {
        const float best = y[to + j], value = candidate[j];
        const bool better = value > best || (value != value && best == best);
        y[to + j] = better ? value : best;
        chosen[to + j] = better ? static_cast<uint8_t>(place) : chosen[to + j];
      }
    }
  });
}

void MaxPoolBackward(const ImageRows& shape, const float* dy, const uint8_t* chosen, float* dx) {
  const int64_t c = shape.channels;
  std::fill_n(dx, shape.size(), 0.0f);
  ForWindows(shape, [&](int64_t from, int64_t to) {
    for (int place = 0; place < 4; ++place) {
      float* const target = dx + from + OffsetOf(shape, place);
      for (int64_t j = 0; j < c; ++j) target[j] = chosen[to + j] == place ? dy[to + j] : 0.0f;
    }
  });
}

}  // namespace reprise::kernels
