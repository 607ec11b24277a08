#ifndef KERNELS_ROWS_SILU_GATE_H_
#define KERNELS_ROWS_SILU_GATE_H_

// The gate of a SwiGLU feed-forward layer (Shazeer 2020), elementwise.

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// y[r,j] = silu(gate[r,j]) * up[r,j] with silu(g) = g / (1 + exp(-g)). y may be gate or up if the strides agree.
void SiluGate(const ConstRows& gate, const ConstRows& up, const Rows& y);

// With s = 1 / (1 + exp(-g)):   dup = dy * (g * s),   dgate = (dy * up) * (s * fma(g, 1 - s, 1)).
// dgate and dup are assigned; they may be gate and up, or one of them dy, if strides agree.
void SiluGateBackward(const ConstRows& gate, const ConstRows& up, const ConstRows& dy, const Rows& dgate,
                      const Rows& dup);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_SILU_GATE_H_
