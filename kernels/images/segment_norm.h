#ifndef KERNELS_IMAGES_SEGMENT_NORM_H_
#define KERNELS_IMAGES_SEGMENT_NORM_H_

// Normalisation of groups of channels over segments of rows. Batch normalisation (Ioffe & Szegedy 2015) has one segment
// of all rows, and a group for each channel; group normalisation (Wu & He 2018) a segment for each image.
//
// Order contract: with n = rows of a segment * channels of a group,
//   m = (sum of x) / n and s = (sum of (x - m)^2) / n in double: a sum for each channel over ascending rows, from +0,
//   then over the group's channels, ascending; inverse = 1 / sqrt(s + eps) in double. m and inverse are rounded.
//   normal = (x - m) * inverse;   y = normal * gain + bias, in floats, each operation rounded

#include <cstdint>

namespace reprise::kernels {

struct NormShape {
  int64_t segments = 0, rows = 0;    // rows of a segment
  int64_t channels = 0, groups = 0;  // groups divides channels
  double eps = 1e-5;
};

// mean and variance (s) [segments, groups], rounded; normal, as large as x, and inverse [segments, groups] are for
// backward. y and normal may not overlap x.
struct NormResults {
  float* y = nullptr;
  float* normal = nullptr;
  float* mean = nullptr;
  float* variance = nullptr;
  float* inverse = nullptr;
};
void SegmentNorm(const NormShape& shape, const float* x, const float* gain, const float* bias,
                 const NormResults& results);

// normal and y with given statistics by group, the same for all segments.
void NormWithStatistics(const NormShape& shape, const float* x, const float* gain, const float* bias, const float* mean,
                        const float* inverse, float* y);

// With p = sum of dy and q = sum of dy normal for each channel of a segment, in double over ascending rows, from +0,
// and a = (sum of gain p) / n and b = (sum of gain q) / n over a group's channels, ascending, in double, then rounded:
//   dx = ((dy gain - a) - normal b) inverse, in floats, each operation rounded
//   dgain = sum of q and dbias = sum of p over segments, ascending, in double, rounded once
// All are assigned; dx may be dy.
struct NormGradients {
  float* dx = nullptr;
  float* dgain = nullptr;
  float* dbias = nullptr;
};
void SegmentNormBackward(const NormShape& shape, const float* dy, const float* normal, const float* inverse,
                         const float* gain, const NormGradients& gradients);

}  // namespace reprise::kernels

#endif  // KERNELS_IMAGES_SEGMENT_NORM_H_
