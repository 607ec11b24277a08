#ifndef KERNELS_ROWS_SILU_GATE_H_
#define KERNELS_ROWS_SILU_GATE_H_

// The gate of a SwiGLU feed-forward layer (Shazeer 2020), elementwise.

#include <cstdint>

namespace reprise::kernels {

// y[r,j] = silu(gate[r,j]) * up[r,j] with silu(g) = g / (1 + exp(-g)). gate and up are rows of stride ld_in, y of
// stride ldy; y may be gate or up if the strides agree.
void SiluGate(int64_t rows, int64_t n, const float* gate, const float* up, int64_t ld_in, float* y, int64_t ldy);

// With s = 1 / (1 + exp(-g)):   dup = dy * (g * s),   dgate = (dy * up) * (s * fma(g, 1 - s, 1)).
// dgate and dup are rows of stride ld_out and assigned; they may be gate and up, or one of them dy, if strides agree.
void SiluGateBackward(int64_t rows, int64_t n, const float* gate, const float* up, int64_t ld_in, const float* dy,
                      int64_t lddy, float* dgate, float* dup, int64_t ld_out);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_SILU_GATE_H_
