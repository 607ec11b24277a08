#ifndef KERNELS_ROWS_COLUMN_CHAINS_H_
#define KERNELS_ROWS_COLUMN_CHAINS_H_

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Computes the gradient of a vector that every row of a shard uses, such as a bias or the gain of a normalisation: for
// each column j the chain g[j] = fma(a[r,j], b[r,j], g[j]) over the shard's rows. If b's data is null, b is all ones.
void AccumulateColumns(const ConstRows& a, const ConstRows& b, const GradientChains& gradient);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_COLUMN_CHAINS_H_
