#ifndef KERNELS_OPTIMIZER_ORTHOGONALIZE_H_
#define KERNELS_OPTIMIZER_ORTHOGONALIZE_H_

// Replaces a matrix by an orthogonal one near it: U V^T of its singular value decomposition U S V^T, approximately or
// exactly. Single-threaded, deterministic: the same bits on every instruction set.

#include <cstdint>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// The quintic Newton-Schulz iteration of Muon (Jordan 2024): x / max(|x|_F, 1e-7), then `steps` times
//   A = x x^T,  x = 3.4445 x + (-4.7750 A + 2.0315 A A) x,
// on the transpose where x has more rows than columns. Products have the order of kernels/products. Singular values,
// unless they are tiny, come to lie between about 0.68 and 1.2: the coefficients are chosen for speed, not for a limit.
// A zero matrix stays zero. x must be dense, of at least one element.
void NewtonSchulz(int64_t steps, const Rows& x);

// x becomes U V^T, from a one-sided Jacobi decomposition in double (Hestenes 1958): pairs of columns are rotated until
// all are orthogonal, in a fixed order. Singular values up to the largest one times 2^-23, a float's epsilon, times the
// larger dimension are what the rounding of the elements leaves of 0 (the tolerance of matrix_rank in NumPy and
// PyTorch): their directions are left out. So the result has the rank of x, and a zero matrix stays zero. Takes about
// ten sweeps of rows cols min(rows, cols) operations each: for matrices of some hundred columns. x must be dense and
// finite.
void Orthogonalize(const Rows& x);

}  // namespace reprise::kernels

#endif  // KERNELS_OPTIMIZER_ORTHOGONALIZE_H_
