#ifndef KERNELS_OPTIMIZER_GRAM_SCHMIDT_H_
#define KERNELS_OPTIMIZER_GRAM_SCHMIDT_H_

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Makes the rows orthonormal in place: the modified Gram-Schmidt process from the first row on. Each row is freed of
// the earlier ones twice, after which it is orthogonal to them to rounding (Giraud et al. 2005). Dot products are
// chains of fused multiply-adds over ascending elements. At most as many rows as their width, linearly independent
// (checked).
void GramSchmidt(const RowView<double>& x);

}  // namespace reprise::kernels

#endif  // KERNELS_OPTIMIZER_GRAM_SCHMIDT_H_
