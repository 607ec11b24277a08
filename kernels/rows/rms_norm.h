#ifndef KERNELS_ROWS_RMS_NORM_H_
#define KERNELS_ROWS_RMS_NORM_H_

// Root-mean-square normalisation of rows (Zhang & Sennrich 2019). A row's bits depend on that row alone.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// y[r,j] = (x[r,j] * inverse) * gain[j] with inverse = 1 / sqrt(s / n + eps), n the width, s = sum of x[r,j]^2 by fused
// multiply-adds in 64 lanes (lane = j mod 64, starting at +0), then the fixed tree t[i] += t[i + w] for w = 32, ..., 1.
// inverse_rms[r] = inverse, if not null, is stored for backward. y may be x. n == 0 writes nothing.
void RmsNorm(const ConstRows& x, const float* gain, float eps, const Rows& y, float* inverse_rms);

// Computes the gradients of RmsNorm; x are the inputs of the forward.
//
// dx: with h_j = dy[r,j] * gain[j], i = inverse_rms[r] and c = sum of h_j x[r,j] by fused multiply-adds in 64 lanes and
// the fixed tree, k = (((c * i) * i) * i) / n:   dx[r,j] = fma(-k, x[r,j], i * h_j),
// assigned, or added to dx when `accumulate` (residual streams). dx may be dy; with `accumulate` it must not be.
//
// dgain [n]: a chain over the shard's rows, g = fma(dy[r,j], x[r,j] * inverse_rms[r], g).
//
// If dx's data or dgain's total is null, only the other gradient is computed: threads share dx by rows and dgain by
// columns.
void RmsNormBackward(const ConstRows& x, const float* gain, const float* inverse_rms, const ConstRows& dy,
                     bool accumulate, const Rows& dx, const GradientChains& dgain);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_RMS_NORM_H_
