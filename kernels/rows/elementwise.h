#ifndef KERNELS_ROWS_ELEMENTWISE_H_
#define KERNELS_ROWS_ELEMENTWISE_H_

// Elementwise arithmetic on arrays of n floats. The same bits however an array is split.

#include <cstdint>

namespace reprise::kernels {

void Add(int64_t n, const float* a, const float* b, float* y);  // y = a + b; y may be a or b

// x = low where x < low, high where x > high; others are unchanged, also NaN, and -0 at a bound of 0. low <= high.
void Clamp(int64_t n, float low, float high, float* x);
// dy = dy where low <= x_before <= high, else +0 (as torch's clamp: the bounds themselves pass the gradient).
void ClampBackward(int64_t n, float low, float high, const float* x_before, float* dy);

// x = 0 where x < 0; others are unchanged, also NaN and -0.
void Relu(int64_t n, float* x);
// dy = dy where y > 0, else +0; y is the output of Relu.
void ReluBackward(int64_t n, const float* y, float* dy);
// dy *= fma(-y, y, 1); y is the output of Tanh (kernels/math/vector_math.h).
void TanhBackward(int64_t n, const float* y, float* dy);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_ELEMENTWISE_H_
