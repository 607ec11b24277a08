#include "kernels/images/depthwise.h"

#include <algorithm>
#include <vector>

namespace reprise::kernels {

void Depthwise(const ImageRows& shape, const float* x, const float* w, float* y) {
  const int64_t c = shape.channels;
  for (int64_t image = 0; image < shape.images; ++image, x += shape.pixels() * c) {
    for (int64_t row = 0; row < shape.pixels(); ++row, y += c) {
      std::fill_n(y, c, 0.0f);
      ForTaps(shape, row / shape.width, row % shape.width, [&](int64_t tap, int64_t from) {
        for (int64_t j = 0; j < c; ++j) y[j] += w[tap * c + j] * x[from * c + j];
      });
    }
  }
}

void DepthwiseInputGradient(const ImageRows& shape, const float* dy, const float* w, float* dx) {
  const int64_t c = shape.channels;
  for (int64_t image = 0; image < shape.images; ++image, dy += shape.pixels() * c) {
    for (int64_t row = 0; row < shape.pixels(); ++row, dx += c) {
      std::fill_n(dx, c, 0.0f);
      // Pixel `from` of the window around `row` has `row` at the opposite tap of its own window.
      ForTaps(shape, row / shape.width, row % shape.width, [&](int64_t tap, int64_t from) {
        const float* const weight = w + (kTaps - 1 - tap) * c;
        for (int64_t j = 0; j < c; ++j) dx[j] += weight[j] * dy[from * c + j];
      });
    }
  }
}

void DepthwiseWeightGradient(const ImageRows& shape, const float* dy, const float* x, float* dw) {
  const int64_t c = shape.channels;
  std::vector<double> sums(static_cast<size_t>(kTaps * c));
  for (int64_t image = 0; image < shape.images; ++image, x += shape.pixels() * c) {
    for (int64_t row = 0; row < shape.pixels(); ++row, dy += c) {
      ForTaps(shape, row / shape.width, row % shape.width, [&](int64_t tap, int64_t from) {
        double* const sum = sums.data() + tap * c;
        for (int64_t j = 0; j < c; ++j) sum[j] += static_cast<double>(dy[j]) * static_cast<double>(x[from * c + j]);
      });
    }
  }
  std::transform(sums.begin(), sums.end(), dw, [](double sum) { return static_cast<float>(sum); });
}

}  // namespace reprise::kernels
