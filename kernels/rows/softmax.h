#ifndef KERNELS_ROWS_SOFTMAX_H_
#define KERNELS_ROWS_SOFTMAX_H_

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// y[r,j] = e_j * (1 / s) with e_j = exp(x[r,j] - max of the row) and s = sum of e_j in 64 lanes (lane = j mod 64,
// starting at +0), then the fixed tree t[i] += t[i + w] for w = 32, ..., 1. y may be x. A row that contains NaN or +inf
// becomes NaN. A row's bits depend on that row alone.
void Softmax(const ConstRows& x, const Rows& y);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_SOFTMAX_H_
