#ifndef KERNELS_ROWS_LAYER_NORM_H_
#define KERNELS_ROWS_LAYER_NORM_H_

// Layer normalisation of rows (Ba, Kiros & Hinton 2016). A row's bits depend on that row alone. Sums are in 64 lanes
// (lane = j mod 64, starting at +0), then the fixed tree t[i] += t[i + w] for w = 32, ..., 1.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// normal[r,j] = (x[r,j] - m) * inverse and y[r,j] = fma(normal[r,j], gain[j], bias[j]) with n the width,
// m = (sum of x[r,j]) / n, s = sum of (x[r,j] - m)^2 by fused multiply-adds, and inverse = 1 / sqrt(s / n + eps).
// `normal` and inverse_deviation[r] = inverse are stored for backward. y may be x. n == 0 writes nothing.
void LayerNorm(const ConstRows& x, const float* gain, const float* bias, float eps, const Rows& y, const Rows& normal,
               float* inverse_deviation);

// Computes the gradient of the inputs: with h_j = dy[r,j] * gain[j], a = (sum of h_j) / n and b = (sum of
// h_j normal[r,j] by fused multiply-adds) / n:   dx[r,j] = fma(-b, normal[r,j], h_j - a) * inverse_deviation[r].
// dx may be dy. AccumulateColumns computes the gradients of gain (from dy and normal) and bias (from dy).
void LayerNormInputGradient(const ConstRows& normal, const float* inverse_deviation, const float* gain,
                            const ConstRows& dy, const Rows& dx);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_LAYER_NORM_H_
