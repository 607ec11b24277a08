#ifndef KERNELS_IMAGES_PATCHES_H_
#define KERNELS_IMAGES_PATCHES_H_

// A 3x3 convolution with zero padding as a product of rows: y = patches(x) W^T with W [outputs, 9 channels], whose taps
// vary slower than its channels.

#include "kernels/images/image_rows.h"

namespace reprise::kernels {

// patches [rows, 9 channels]: the windows around all pixels; what is outside of an image is 0.
void GatherPatches(const ImageRows& shape, const float* x, float* patches);

// The gradient of GatherPatches: dx of a pixel is the sum from +0 of the gradients of the windows that it is in, in the
// order of their centres.
void ScatterPatches(const ImageRows& shape, const float* dpatches, float* dx);

}  // namespace reprise::kernels

#endif  // KERNELS_IMAGES_PATCHES_H_
