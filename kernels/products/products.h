#ifndef KERNELS_PRODUCTS_PRODUCTS_H_
#define KERNELS_PRODUCTS_PRODUCTS_H_

// Matrix products whose every element is one chain of fused multiply-adds over the contraction index, ascending,
// restarted every kSegment (the segments' sums are added in order), for any number of rows, blocking and vector width.
//
//   forward  y[M,N]  = x[M,K] W[N,K]^T     contraction K, W packed by PackForward
//   input    dx[M,K] = dy[M,N] W[N,K]      contraction N, W packed by PackTransposed
//   weight   dW[N,K] = dy[T,N]^T x[T,K]    contraction T (rows), no packing; chains continue across calls
//
// Packed: panels of kPanel outputs, [outputs / kPanel][contraction][kPanel], zero padded, 64-byte aligned, in floats or
// in pairs of bf16. One layout for every instruction set. A product with bf16 weights has the bits of that with the
// weights rounded to bf16. Single-threaded and pure; threads split rows or panels and get the same bits.

#include <cstdint>

#include "kernels/contract/operands.h"
#include "kernels/products/packed_matrix.h"

namespace reprise::kernels {

int64_t Panels(int64_t outputs);                           // panels that hold `outputs`
int64_t PackedSize(int64_t outputs, int64_t contraction);  // floats; half as many pairs of bf16

// w is [n, k], row-major with stride k. Panels [first_panel, last_panel) only, so that threads can share the work.
void PackForward(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel);
void PackTransposed(const float* w, int64_t n, int64_t k, float* packed, int64_t first_panel, int64_t last_panel);
// As above, rounded to bf16.
void PackForward(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel);
void PackTransposed(const float* w, int64_t n, int64_t k, Bf16Pair* packed, int64_t first_panel, int64_t last_panel);

// Packs rows [first_row, first_row + rows) of a matrix [n, k], the first of which is at w, as PackForward does into
// `packed` and, if `transposed` is not null, as PackTransposed does into it. first_row must be a multiple of kPanel,
// and rows too unless they are the last. past_caches: writes to memory without passing through the caches, which is
// faster if all packed matrices together exceed them. For threads that share a matrix. Not for substituted products.
void PackRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, float* packed, float* transposed,
              bool past_caches);
void PackRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Bf16Pair* packed,
              Bf16Pair* transposed, bool past_caches);

// Replaces rows [first_row, first_row + rows) of a matrix [n, k] that is packed in `packed` and, unless it is null, in
// `transposed`, any rows. A row takes k steps far apart: for few of them. Not for substituted products.
void ReplaceRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, float* packed,
                 float* transposed);
void ReplaceRows(const float* w, int64_t rows, int64_t k, int64_t first_row, int64_t n, Bf16Pair* packed,
                 Bf16Pair* transposed);

// y [rows, outputs] = x [rows, contraction] times the packed matrix. Only the columns of `panels` are written, and
// never past the outputs. Any size may be 0 (contraction 0 gives zeros).
void Product(const ConstRows& x, const PackedMatrix& packed, const Rows& y, const Range& panels);

inline void Product(const ConstRows& x, const PackedMatrix& packed, const Rows& y) {
  Product(x, packed, y, {0, Panels(y.width)});
}

// Continues the chains of dW [n, k] over more rows of dy [rows, n] and x [rows, k]. Does nothing for a frozen dW.
void AccumulateWeightGradient(const ConstRows& dy, const ConstRows& x, const GradientChains& dw);

}  // namespace reprise::kernels

#endif  // KERNELS_PRODUCTS_PRODUCTS_H_
