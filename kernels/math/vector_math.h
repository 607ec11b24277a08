#ifndef KERNELS_MATH_VECTOR_MATH_H_
#define KERNELS_MATH_VECTOR_MATH_H_

// Elementary functions of float arrays, the same bits on every instruction set and at every position of an array.
// Errors are stated in units in the last place (ulp) against the exact value. All are pure; y may be x.

#include <cstddef>

namespace reprise::kernels {

void Exp(const float* x, float* y, size_t n);      // < 1 ulp on [-87, 88.7]; 0 below -104, +inf above 88.73, NaN -> NaN
void Log(const float* x, float* y, size_t n);      // < 1 ulp on normal x; 0 -> -inf, x < 0 -> NaN
void Sigmoid(const float* x, float* y, size_t n);  // 1 / (1 + exp(-x))
void Tanh(const float* x, float* y, size_t n);

// The same bits as the array functions, for one value.
float Exp(float x);
float Log(float x);

}  // namespace reprise::kernels

#endif  // KERNELS_MATH_VECTOR_MATH_H_
