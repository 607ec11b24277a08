#ifndef KERNELS_ROWS_LSTM_CELL_H_
#define KERNELS_ROWS_LSTM_CELL_H_

// The cell of a long short-term memory (Hochreiter & Schmidhuber 1997) on one row of n units. Its gates are 4 n
// numbers: the quarters of the input, the forget, the candidate and the output gate, in PyTorch's order.

#include <cstdint>

namespace reprise::kernels {

// gates: sums of the products and biases; replaced by i, f, o = sigmoid and g = tanh of their quarters. Computes
//   c = fma(f, c_before, i * g),   tanh_c = tanh(c),   h = o * tanh_c.
// The functions are those of kernels/math/vector_math.h. c may be c_before.
void LstmCell(int64_t n, float* gates, const float* c_before, float* c, float* tanh_c, float* h);

// The row's values in LstmCell.
struct LstmCellValues {
  const float *gates = nullptr, *c_before = nullptr, *tanh_c = nullptr;
};

// dh is the gradient of h, and dc that of c from later rows. Computes dgates, the gradient of the sums, and replaces dc
// by the gradient of c_before:
//   e = fma(dh * o, fma(-tanh_c, tanh_c, 1), dc)
//   di = e g (i (1 - i)),  df = e c_before (f (1 - f)),  dg = e i fma(-g, g, 1),  do = dh tanh_c (o (1 - o))
//   dc = e f
// with products from the left to the right and those in parentheses first.
void LstmCellBackward(int64_t n, const LstmCellValues& values, const float* dh, float* dc, float* dgates);

}  // namespace reprise::kernels

#endif  // KERNELS_ROWS_LSTM_CELL_H_
