#ifndef MODELS_HEADS_LSTM_H_
#define MODELS_HEADS_LSTM_H_

// A long short-term memory (Hochreiter & Schmidhuber 1997; gates as in PyTorch's LSTM, with one bias) as a
// differentiable function of sequences of rows, whose outputs are normalised:
//
//   a_t = W x_t + b + U h_{t-1},   i, f, g, o = the quarters of a_t,
//   c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t),   y_t = LayerNorm(h_t),
//
// where the first row of a sequence has c_{t-1} = 0 and no third summand. The products are chains in the order of
// kernels/products, and the summands of a_t are added in the order above; a row's outputs depend on the rows of its
// sequence up to it alone. Gradients flow back within chunks of a sequence (truncated backpropagation through time;
// Williams & Peng 1990): to them the state before a chunk is a constant. Those of the parameters are chains over a
// shard's rows in canonical order, continued from batch to batch. Single-threaded.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/initial_weights.h"

namespace reprise::models {

// The state of a sequence behind its last row; empty before the first.
struct LstmState {
  std::vector<float> hidden, cell;
};

// Results of Forward that Backward reads, and scratch memory of one thread.
struct LstmBuffers {
  Tensor gates;  // behind their activations
  Tensor cell, tanh_cell, hidden, normal, inverse_deviation;
  Tensor dgates, dhidden, dcell;
  Tensor before, gathered, product;

  int64_t bytes() const;
};

class Lstm {
 public:
  // Appends the parameters to `layout`: NAME.input.weight [4 width, inputs], NAME.recurrent.weight [4 width, width],
  // NAME.bias [4 width], NAME.norm.weight and NAME.norm.bias [width]. Sizes below 1 are a failed check.
  Lstm(int64_t inputs, int64_t width, int64_t chunk, absl::string_view name, FlatLayout* layout);

  int64_t width() const { return width_; }

  // The functions below take arrays of the whole layout, and read or write only the parts of this network.

  // Sets the initial parameters: weights of gain 1, the bias of forget gates 1 (Gers et al. 2000), that of others 0,
  // the gain of the normalisation 1. A pure function of the seed and the layout.
  void Initialize(uint64_t seed, InitialWeights kind, absl::Span<float> parameters) const;

  // Copies and packs the parameters; must be called before the functions below, and after every change.
  void Refresh(absl::Span<const float> parameters);

  // Computes y [rows, width] from x [rows, inputs], which are the rows of consecutive sequences of these lengths. May
  // run at the same time on several threads, each with buffers of its own; so may Backward.
  void Forward(const kernels::ConstRows& x, absl::Span<const int64_t> length_S, const kernels::Rows& y,
               LstmBuffers* buffers) const;

  // Continues the chains of the parameters' gradients over these rows, after Forward of the same rows with the same
  // buffers; dy is the gradient of y. Computes dx, the gradient of x, unless its data is null. `gradient` holds arrays
  // of the whole layout.
  void Backward(const kernels::ConstRows& x, absl::Span<const int64_t> length_S, const kernels::ConstRows& dy,
                const kernels::GradientChains& gradient, const kernels::Rows& dx, LstmBuffers* buffers) const;

  // Computes the output y [1, width] of the next row x [1, inputs] of a sequence, with the bits of Forward, and
  // advances the state.
  void Next(const kernels::ConstRows& x, LstmState* state, const kernels::Rows& y) const;

 private:
  struct Weights {
    WeightPlace place;
    Tensor packed, transposed;
  };
  struct Vector {
    int64_t offset = 0;
    std::vector<float> values;  // of the last Refresh
  };

  Weights AppendWeights(int64_t inputs, const std::string& name, FlatLayout* layout) const;
  static Vector AppendVector(int64_t size, const std::string& name, FlatLayout* layout);
  // Computes y = LayerNorm(h).
  void Normalize(const kernels::ConstRows& h, const kernels::Rows& y, LstmBuffers* buffers) const;
  // Computes the gradients of the gates' sums from those of the hidden states that dhidden holds, which it changes.
  void BackwardThroughTime(absl::Span<const int64_t> length_S, const kernels::Rows& dgates, LstmBuffers* buffers) const;

  const int64_t width_, chunk_;
  Weights input_, recurrent_;
  Vector bias_, norm_gain_, norm_bias_;
  std::vector<float> zero_;  // width numbers
};

}  // namespace reprise::models

#endif  // MODELS_HEADS_LSTM_H_
