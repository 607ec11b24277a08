#ifndef KERNELS_IMAGES_POOLING_H_
#define KERNELS_IMAGES_POOLING_H_

#include "kernels/images/image_rows.h"

namespace reprise::kernels {

// The maximum of each 2x2 window, stride 2; a last odd line or column is dropped. y [images, height / 2, width / 2,
// channels]; chosen, as large, is the place in the window (0 to 3) of the first greatest, where a NaN is greatest.
void MaxPool(const ImageRows& shape, const float* x, float* y, uint8_t* chosen);

// The gradient goes to the chosen pixel, and +0 to the others. dx is assigned; `shape` is that of x.
void MaxPoolBackward(const ImageRows& shape, const float* dy, const uint8_t* chosen, float* dx);

}  // namespace reprise::kernels

#endif  // KERNELS_IMAGES_POOLING_H_
