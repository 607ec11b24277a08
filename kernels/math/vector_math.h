#ifndef KERNELS_MATH_VECTOR_MATH_H_
#define KERNELS_MATH_VECTOR_MATH_H_

// Elementary functions of float arrays, the same bits on every instruction set and at every position of an array.
// Errors are stated in units in the last place (ulp) against the exact value. All are pure; y may be x. NaN gives NaN.

#include <cstddef>

namespace reprise::kernels {

void Exp(const float* x, float* y, size_t n);      // < 1 ulp where the result is normal; 0 below -104, +inf above 88.73
void Log(const float* x, float* y, size_t n);      // < 1 ulp; 0 -> -inf, x < 0 -> NaN, subnormal x included
void Sigmoid(const float* x, float* y, size_t n);  // 1 / (1 + exp(-x)); < 2.5 ulp where exp(-x) does not overflow
void Tanh(const float* x, float* y, size_t n);     // < 2 ulp, odd (-0 -> -0)

// The same bits as the array functions, for one value.
float Exp(float x);
float Log(float x);

}  // namespace reprise::kernels

#endif  // KERNELS_MATH_VECTOR_MATH_H_
