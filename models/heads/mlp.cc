#include "models/heads/mlp.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/math/vector_math.h"
#include "kernels/products/products.h"
#include "kernels/rows/column_chains.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/layer_norm.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::GradientChains;
using kernels::Rows;

constexpr float kNormEpsilon = 1e-5f;  // as in PyTorch's LayerNorm

Rows RowsIn(Tensor& buffer, int64_t rows, int64_t width) { return {Room(buffer, rows * width), rows, width}; }

ConstRows RowsOf(const Tensor& buffer, int64_t rows, int64_t width) {
  return {buffer.data<float>().data(), rows, width};
}

void CopyRows(const ConstRows& from, const Rows& to) {
  for (int64_t r = 0; r < to.rows; ++r) std::copy_n(from[r], to.width, to[r]);
}

// The rows of x, and below those of y and dy, are stored without gaps between them.
void Activate(Activation activation, const Rows& x) {
  const int64_t n = x.rows * x.width;
  if (activation == Activation::kRelu) return kernels::Relu(n, x.data);
  kernels::Tanh(x.data, x.data, static_cast<size_t>(n));
}

void ActivateBackward(Activation activation, const ConstRows& y, const Rows& dy) {
  const int64_t n = y.rows * y.width;
  if (activation == Activation::kRelu) return kernels::ReluBackward(n, y.data, dy.data);
  kernels::TanhBackward(n, y.data, dy.data);
}

}  // namespace

Mlp::Layer Mlp::AppendLayer(int64_t inputs, int64_t outputs, bool is_hidden, absl::string_view name,
                            FlatLayout* layout) const {
  CHECK_GT(outputs, 0);
  Layer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  layer.is_hidden = is_hidden;
  layer.is_normalised = is_hidden && shape_.layer_norm;
  const auto append = [&](absl::string_view of, Shape shape, ParameterKind kind) {
    return layout->Append(absl::StrCat(name, of), std::move(shape), kind);
  };
  const auto append_vector = [&](absl::string_view of) {
    const int spec = append(of, {outputs}, ParameterKind::kVector);
    return Vector{layout->specs[spec].offset, std::vector<float>(static_cast<size_t>(outputs))};
  };
  layer.weight_spec = append(".weight", {outputs, inputs}, is_hidden ? ParameterKind::kMatrix : ParameterKind::kHead);
  layer.weight_offset = layout->specs[layer.weight_spec].offset;
  layer.bias = append_vector(".bias");
  if (layer.is_normalised) {
    layer.norm_gain = append_vector(".norm.weight");
    layer.norm_bias = append_vector(".norm.bias");
  }
  return layer;
}

Mlp::Mlp(MlpShape shape, absl::string_view name, FlatLayout* layout) : shape_(std::move(shape)) {
  CHECK_GT(shape_.inputs, 0);
  CHECK_GE(shape_.outputs, 0);
  std::vector<int64_t> widths = shape_.hidden;
  if (shape_.outputs > 0) widths.push_back(shape_.outputs);
  CHECK(!widths.empty());
  int64_t inputs = shape_.inputs;
  for (size_t l = 0; l < widths.size(); ++l) {
    layers_.push_back(AppendLayer(inputs, widths[l], l < shape_.hidden.size(), absl::StrCat(name, ".", l), layout));
    inputs = widths[l];
  }
}

void Mlp::Initialize(uint64_t seed, const MlpGains& gains, absl::Span<float> parameters) const {
  for (const Layer& layer : layers_) {
    DrawInitialWeights(seed, gains.kind, layer.is_hidden ? gains.hidden : gains.outputs,
                       {layer.weight_spec, layer.weight_offset, layer.outputs, layer.inputs}, parameters);
    std::fill_n(parameters.data() + layer.bias.offset, layer.outputs, 0.0f);
    if (!layer.is_normalised) continue;
    std::fill_n(parameters.data() + layer.norm_gain.offset, layer.outputs, 1.0f);
    std::fill_n(parameters.data() + layer.norm_bias.offset, layer.outputs, 0.0f);
  }
}

void Mlp::Refresh(absl::Span<const float> parameters) {
  for (Layer& layer : layers_) {
    const float* const weight = parameters.data() + layer.weight_offset;
    const int64_t n = layer.outputs, k = layer.inputs;
    kernels::PackForward(weight, n, k, Room(layer.packed, kernels::PackedSize(n, k)), 0, kernels::Panels(n));
    kernels::PackTransposed(weight, n, k, Room(layer.transposed, kernels::PackedSize(k, n)), 0, kernels::Panels(k));
    for (Vector* const vector : {&layer.bias, &layer.norm_gain, &layer.norm_bias}) {
      std::copy_n(parameters.data() + vector->offset, vector->values.size(), vector->values.data());
    }
  }
}

void Mlp::Forward(const ConstRows& x, const Rows& y, MlpBuffers* buffers) const {
  buffers->layers.resize(layers_.size());
  ConstRows input = x;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    MlpBuffers::Layer& kept = buffers->layers[l];
    const Rows h = layer.is_hidden ? RowsIn(kept.output, x.rows, layer.outputs) : y;
    kernels::Product(input, layer.packed.data<float>().data(), h);
    for (int64_t r = 0; r < h.rows; ++r) kernels::Add(h.width, h[r], layer.bias.values.data(), h[r]);
    if (layer.is_normalised) {
      kernels::LayerNorm(h, layer.norm_gain.values.data(), layer.norm_bias.values.data(), kNormEpsilon, h,
                         RowsIn(kept.normal, h.rows, h.width), Room(kept.inverse_deviation, h.rows));
    }
    if (layer.is_hidden) Activate(shape_.activation, h);
    input = h;
  }
  if (layers_.back().is_hidden) CopyRows(input, y);
}

void Mlp::Backward(const ConstRows& x, const ConstRows& dy, const GradientChains& gradient, const Rows& dx,
                   MlpBuffers* buffers) const {
  buffers->layers.resize(layers_.size());
  Rows d = RowsIn(buffers->gradient, dy.rows, dy.width);  // of the current layer's outputs
  CopyRows(dy, d);
  for (size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const MlpBuffers::Layer& kept = buffers->layers[l];
    if (layer.is_hidden) ActivateBackward(shape_.activation, RowsOf(kept.output, d.rows, d.width), d);
    if (layer.is_normalised) {
      const ConstRows normal = RowsOf(kept.normal, d.rows, d.width);
      kernels::AccumulateColumns(d, normal, gradient.From(layer.norm_gain.offset));
      kernels::AccumulateColumns(d, {}, gradient.From(layer.norm_bias.offset));
      kernels::LayerNormInputGradient(normal, kept.inverse_deviation.data<float>().data(),
                                      layer.norm_gain.values.data(), d, d);
    }
    const ConstRows input = l == 0 ? x : RowsOf(buffers->layers[l - 1].output, d.rows, layer.inputs);
    kernels::AccumulateWeightGradient(d, input, gradient.From(layer.weight_offset));
    kernels::AccumulateColumns(d, {}, gradient.From(layer.bias.offset));
    if (l == 0 && dx.data == nullptr) return;
    const Rows before = l == 0 ? dx : RowsIn(buffers->input_gradient, d.rows, layer.inputs);
    kernels::Product(d, layer.transposed.data<float>().data(), before);
    std::swap(buffers->gradient, buffers->input_gradient);
    d = before;
  }
}

}  // namespace reprise::models
