#ifndef KERNELS_ROWS_MEAN_ROWS_H_
#define KERNELS_ROWS_MEAN_ROWS_H_

// The mean of a segment's rows, such as the last hidden states of a text, which is the text's embedding.
//
// Order contract: y[j] = s / rows, where s is the chain of additions s = s + x[t,j] from +0 over ascending rows t,
// which is never restarted, and the division is IEEE's. Its gradient is dx[t,j] = dy[j] / rows. A mean's bits depend on
// its rows alone.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// x has at least one row (checked), at most 2^24; y has x.width elements, none of x's.
void MeanOfRows(const ConstRows& x, float* y);

// Assigns dx; dy must not be in it. No rows: nothing.
void MeanOfRowsBackward(const float* dy, const Rows& dx);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_MEAN_ROWS_H_
