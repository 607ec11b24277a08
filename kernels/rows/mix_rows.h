#ifndef KERNELS_ROWS_MIX_ROWS_H_
#define KERNELS_ROWS_MIX_ROWS_H_

// Rows between two others, by a weight of each row. A row's bits depend on that row alone.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// y[r,j] = fma(w[r], b[r,j] - a[r,j], a[r,j]): a where w is 0. y may be a or b.
void MixRows(const ConstRows& a, const ConstRows& b, const float* w, const Rows& y);

// The gradients: db[r,j] = w[r] * dy[r,j], da[r,j] = dy[r,j] - db[r,j], and dw[r] = sum over j of dy[r,j] * (b[r,j] -
// a[r,j]) by fused multiply-adds in 64 lanes (lane = j mod 64, starting at +0), then the fixed tree t[i] += t[i + w]
// for w = 32, ..., 1. da and db must be none of the inputs.
void MixRowsBackward(const ConstRows& a, const ConstRows& b, const float* w, const ConstRows& dy, const Rows& da,
                     const Rows& db, float* dw);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_MIX_ROWS_H_
