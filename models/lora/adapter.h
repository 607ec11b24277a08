#ifndef MODELS_LORA_ADAPTER_H_
#define MODELS_LORA_ADAPTER_H_

// A low-rank addition to the product of a frozen matrix W [out, in] (Hu et al. 2021): y = W x + scale * B (A x), with A
// [r, in], B [out, r] and scale = alpha / r, as the PEFT library computes it.
//
// Order contract. Products are those of kernels/products; xd is x, or x after dropout.
//   forward    u = scale * (xd A^T);   y_j = y_j + (chain of u_i B_ji over i), after W's product: one addition
//   backward   dB: chains over the shard's rows of dy^T u;   du = scale * (dy B);   dA: chains over the shard's rows of
//              du^T xd;   dx_j = dx_j + (chain of du_i A_ij over i, after dropout), after W's input gradient
// Where several adapters read one input their additions to dx come in the order of LoraModule. A row's bits depend on
// that row alone, so neither batches nor threads change a bit.

#include <cstdint>

#include "core/parallel/team.h"
#include "kernels/contract/operands.h"
#include "kernels/products/packed_matrix.h"
#include "models/lora/dropout.h"

namespace reprise::models {

// The packed copies of A and B. A view.
struct Adapter {
  int64_t in = 0, out = 0, rank = 0;  // rank 0: there is no adapter
  float scale = 1;
  Dropout dropout;
  kernels::PackedMatrix a, a_transposed, b, b_transposed;

  bool exists() const { return rank > 0; }
};

// Returns the floats of the packed copies of an adapter with these sizes.
int64_t PackedAdapterFloats(const Adapter& adapter);

// Packs a [r, in] and b [out, r] into `packed`, which is 64-byte aligned, and sets the adapter's views.
void PackAdapter(const float* a, const float* b, float* packed, Adapter* adapter);

// Adds the adapter's output for x [rows, in] to the columns [columns.begin, columns.end) of y [rows, out].
void AddAdapter(const Adapter& adapter, const kernels::ConstRows& x, const RowSeeds& seeds, const kernels::Rows& y,
                const kernels::Range& columns);
inline void AddAdapter(const Adapter& adapter, const kernels::ConstRows& x, const RowSeeds& seeds,
                       const kernels::Rows& y) {
  if (adapter.exists()) AddAdapter(adapter, x, seeds, y, {0, y.width});
}

// Where an adapter's gradients go: chains over the shard's rows.
struct AdapterGradient {
  kernels::GradientChains a, b;
};

// Continues the gradients of A and B with more rows, and adds to dx, which holds W's input gradient. The team divides
// the work.
void AdapterBackward(const Adapter& adapter, const kernels::ConstRows& x, const RowSeeds& seeds,
                     const kernels::ConstRows& dy, const AdapterGradient& gradient, const kernels::Rows& dx,
                     const Team& team = Team());

// w [out, in] += scale * B A, from which W's product differs from the adapter's sum by rounding alone.
void MergeAdapter(const float* a, const float* b, int64_t rank, float scale, const kernels::Rows& w);

}  // namespace reprise::models

#endif  // MODELS_LORA_ADAPTER_H_
