#ifndef KERNELS_IMAGES_DEPTHWISE_H_
#define KERNELS_IMAGES_DEPTHWISE_H_

// A 3x3 convolution with zero padding of each channel by itself, w [9, channels].

#include "kernels/images/image_rows.h"

namespace reprise::kernels {

// y[p, c] = sum over taps t inside the image, ascending and from +0, of w[t, c] x[p + t, c]: products are rounded.
void Depthwise(const ImageRows& shape, const float* x, const float* w, float* y);

// dx, likewise in the order of the windows' centres. Assigned.
void DepthwiseInputGradient(const ImageRows& shape, const float* dy, const float* w, float* dx);

// dw[t, c] = sum over all pixels p, ascending, in double, of dy[p, c] x[p + t, c]; rounded once. Assigned.
void DepthwiseWeightGradient(const ImageRows& shape, const float* dy, const float* x, float* dw);

}  // namespace reprise::kernels

#endif  // KERNELS_IMAGES_DEPTHWISE_H_
