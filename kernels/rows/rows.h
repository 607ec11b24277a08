#ifndef KERNELS_ROWS_ROWS_H_
#define KERNELS_ROWS_ROWS_H_

// Row-wise kernels. A reduction over a row uses kLanes virtual lanes (lane = index mod kLanes, ascending within a
// lane), then one fixed tree over the lanes, on every instruction set. A row's bits depend on that row alone.

#include <cstdint>

namespace reprise::kernels {

inline constexpr int64_t kLanes = 64;  // part of the numeric contract

// y[r] = x[r] / sqrt(mean(x[r]^2) + eps) * gain. inverse_rms[r], if not null, is kept for backward. y may be x.
void RmsNorm(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, float eps, float* y, int64_t ldy,
             float* inverse_rms);

// dx[r] = assigned, or added to when `accumulate` (residual streams). x are the inputs of the forward.
// dgain: its gradient is a chain of fused multiply-adds over rows, dgain[j] = fma(dy[r,j], x[r,j]*inverse_rms[r], ...),
// with total, open, first_row and last as in AccumulateWeightGradient (kernels/products/products.h).
void RmsNormBackward(int64_t rows, int64_t n, const float* x, int64_t ldx, const float* gain, const float* inverse_rms,
                     const float* dy, int64_t lddy, bool accumulate, float* dx, int64_t lddx, int64_t first_row,
                     bool last, float* total_dgain, float* open_dgain);

// y[r,j] = silu(gate[r,j]) * up[r,j], silu(g) = g / (1 + exp(-g)), and its backward. All rows have their own strides.
void SiluGate(int64_t rows, int64_t n, const float* gate, const float* up, int64_t ld_in, float* y, int64_t ldy);
void SiluGateBackward(int64_t rows, int64_t n, const float* gate, const float* up, int64_t ld_in, const float* dy,
                      int64_t lddy, float* dgate, float* dup, int64_t ld_out);

void Softmax(int64_t rows, int64_t n, const float* x, int64_t ldx, float* y, int64_t ldy);  // y may be x

void Add(int64_t n, const float* a, const float* b, float* y);  // y = a + b, elementwise; y may be a or b
void Scale(int64_t n, float factor, float* x);                  // x *= factor
void Clamp(int64_t n, float low, float high, float* x);         // x = min(max(x, low), high); NaN stays NaN
// dx = dy where low <= x_before <= high, else 0 (as torch's clamp: the bounds themselves pass the gradient).
void ClampBackward(int64_t n, float low, float high, const float* x_before, float* dy);

// True if no element is NaN or infinite.
bool AllFinite(int64_t n, const float* x);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_ROWS_H_
