#ifndef KERNELS_ROWS_COSINE_ROWS_H_
#define KERNELS_ROWS_COSINE_ROWS_H_

// The cosine of the angle between two rows. A row's bits depend on that row alone.
//
// Order contract: dot, |a|^2 and |b|^2 are sums by fused multiply-adds in 64 lanes (lane = j mod 64, starting at +0),
// then the fixed tree; norms are n_a = max(sqrt(|a|^2), 1e-8) (as torch's cosine_similarity), n_b likewise; cosine =
// dot / (n_a n_b). The gradient takes norms for greater than 1e-8: with u = dcosine / (n_a n_b), r_a = dcosine cosine /
// (n_a n_a):   da_j = fma(u, b_j, -(r_a a_j)), and db with a and b exchanged.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// norms_R2: n_a and n_b of each row, for backward.
void CosineRows(const ConstRows& a, const ConstRows& b, float* cosine_R, float* norms_R2);
void CosineRowsBackward(const ConstRows& a, const ConstRows& b, const float* cosine_R, const float* norms_R2,
                        const float* dcosine_R, const Rows& da, const Rows& db);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_COSINE_ROWS_H_
