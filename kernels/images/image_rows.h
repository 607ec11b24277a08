#ifndef KERNELS_IMAGES_IMAGE_ROWS_H_
#define KERNELS_IMAGES_IMAGE_ROWS_H_

#include <cstdint>

namespace reprise::kernels {

// Images as dense rows: a row for each pixel, images one after the other, each from its first line on. A row holds the
// pixel's channels.
struct ImageRows {
  int64_t images = 0, height = 0, width = 0, channels = 0;

  int64_t pixels() const { return height * width; }  // of an image
  int64_t rows() const { return images * pixels(); }
  int64_t size() const { return rows() * channels; }
};

inline constexpr int64_t kTaps = 9;  // of a 3x3 window: (-1, -1), (-1, 0), ..., (1, 1)

// Calls visit(tap, row) for each tap of the window around pixel (y, x) that is inside the image, in ascending order;
// `row` is the tap's pixel, counted from the image's first.
template <typename Visit>
void ForTaps(const ImageRows& shape, int64_t y, int64_t x, const Visit& visit) {
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    const int64_t at_y = y + tap / 3 - 1, at_x = x + tap % 3 - 1;
    if (at_y < 0 || at_y >= shape.height || at_x < 0 || at_x >= shape.width) continue;
    visit(tap, at_y * shape.width + at_x);
  }
}

}  // namespace reprise::kernels

#endif  // KERNELS_IMAGES_IMAGE_ROWS_H_
