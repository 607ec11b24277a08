#ifndef MODELS_HEADS_MLP_H_
#define MODELS_HEADS_MLP_H_

// A multi-layer perceptron as a differentiable function of rows. Each hidden layer computes
//
//   h = activation(LayerNorm(W x + b))      (LayerNorm where the shape has it)
//
// and the outputs, if there are any, are y = W h + b. The products are chains of fused multiply-adds in the order of
// kernels/products, to which b is added; a row's outputs depend on that row alone. The gradients of the parameters are
// chains over a shard's rows in canonical order, continued from batch to batch, so that the boundaries of batches
// change no bit. Single-threaded.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/initial_weights.h"

namespace reprise::models {

enum class Activation { kRelu, kTanh };

// Widths are at least 1.
struct MlpShape {
  int64_t inputs = 1;
  std::vector<int64_t> hidden = {};  // the widths of the hidden layers
  int64_t outputs = 1;               // 0: the outputs are the last hidden layer, such as one that several heads read
  Activation activation = Activation::kRelu;
  bool layer_norm = false;
};

// Of the initial weights of layers (models/heads/initial_weights.h).
struct MlpGains {
  double hidden = 1.4142135623730951;  // keeps the variance of hidden layers with ReLU (He et al. 2015)
  double outputs = 1.0;
  InitialWeights kind = InitialWeights::kNormal;
};

// Results of Forward that Backward reads, and scratch memory of one thread.
struct MlpBuffers {
  struct Layer {
    Tensor output, normal, inverse_deviation;
  };
  std::vector<Layer> layers;
  Tensor gradient, input_gradient;
};

class Mlp {
 public:
  // Appends the parameters to `layout`. Those of layer i are NAME.i.weight [out, in] and NAME.i.bias [out], and, if it
  // is normalised, NAME.i.norm.weight and NAME.i.norm.bias [out]. The weight of the outputs is a head, other weights
  // are matrices; all else are vectors. An invalid shape is a failed check.
  Mlp(MlpShape shape, absl::string_view name, FlatLayout* layout);

  int64_t outputs() const { return layers_.back().outputs; }  // the width of what Forward computes

  // The functions below take arrays of the whole layout, and read or write only the parts of this network.

  // Sets the initial parameters: weights drawn, gains of normalisations 1, biases 0. A pure function of the seed and
  // the layout.
  void Initialize(uint64_t seed, const MlpGains& gains, absl::Span<float> parameters) const;

  // Copies and packs the parameters for Forward and Backward; must be called before these, and after every change.
  void Refresh(absl::Span<const float> parameters);

  // Computes y [rows, outputs()] from x [rows, inputs]. May run at the same time on several threads, each with buffers
  // of its own; so may Backward.
  void Forward(const kernels::ConstRows& x, const kernels::Rows& y, MlpBuffers* buffers) const;

  // Continues the chains of the parameters' gradients over these rows, after Forward of the same rows with the same
  // buffers; dy is the gradient of y. Computes dx, the gradient of x, unless its data is null. `gradient` holds arrays
  // of the whole layout. A call without rows, such as one that ends a shard, needs no Forward.
  void Backward(const kernels::ConstRows& x, const kernels::ConstRows& dy, const kernels::GradientChains& gradient,
                const kernels::Rows& dx, MlpBuffers* buffers) const;

 private:
  struct Vector {
    int64_t offset = 0;         // in arrays of the layout
    std::vector<float> values;  // of the last Refresh
  };
  struct Layer {
    int64_t inputs = 0, outputs = 0;
    bool is_hidden = false, is_normalised = false;
    int weight_spec = 0;  // index into FlatLayout::specs
    int64_t weight_offset = 0;
    Tensor packed, transposed;
    Vector bias, norm_gain, norm_bias;
  };

  Layer AppendLayer(int64_t inputs, int64_t outputs, bool is_hidden, absl::string_view name, FlatLayout* layout) const;

  const MlpShape shape_;
  std::vector<Layer> layers_;
};

}  // namespace reprise::models

#endif  // MODELS_HEADS_MLP_H_
