#include "models/morphogenesis/networks/row_ops.h"

#include <algorithm>
#include <array>

#include "core/tensor/room.h"
#include "kernels/math/vector_math.h"
#include "kernels/products/products.h"
#include "kernels/rows/column_chains.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/layer_norm.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::GradientChains;
using kernels::Rows;

constexpr float kNormEpsilon = 1e-5f;        // as in PyTorch's LayerNorm
constexpr float kGeluScale = 1.5957691216f;  // 2 sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;
constexpr uint32_t kDropoutSteps = 1u << 16;  // probabilities are multiples of 1 / kDropoutSteps
constexpr int64_t kElementsOfDraw = 8;

GradientChains Whole(const at::Tensor& gradient) { return {.total = MutableData(gradient), .last = true}; }

Tensor& PackedRoom() {
  thread_local Tensor room;
  return room;
}

void Multiply(const at::Tensor& x, const at::Tensor& weight_NK, const at::Tensor& y) {
  const int64_t n = weight_NK.size(0), k = weight_NK.size(1);
  float* const packed = Room(PackedRoom(), kernels::PackedSize(n, k));
  kernels::PackForward(Data(weight_NK), n, k, packed, 0, kernels::Panels(n));
  kernels::Product(RowsOf(x), packed, MutableRowsOf(y));
}

void MultiplyTransposed(const at::Tensor& dy, const at::Tensor& weight_NK, const at::Tensor& dx) {
  const int64_t n = weight_NK.size(0), k = weight_NK.size(1);
  float* const packed = Room(PackedRoom(), kernels::PackedSize(k, n));
  kernels::PackTransposed(Data(weight_NK), n, k, packed, 0, kernels::Panels(k));
  kernels::Product(RowsOf(dy), packed, MutableRowsOf(dx));
}

at::Tensor ColumnSums(const at::Tensor& dy) {
  at::Tensor sums = NewFloats({dy.size(-1)});
  kernels::AccumulateColumns(RowsOf(dy), {}, Whole(sums));
  return sums;
}

void AddToRows(const float* bias, const Rows& y) {
  for (int64_t r = 0; r < y.rows; ++r) {
    for (int64_t j = 0; j < y.width; ++j) y[r][j] += bias[j];
  }
}

// y = f(x) and dx = df(x, y, dy), element by element.
template <typename Derivative>
at::Tensor Elementwise(const at::Tensor& x, at::Tensor y, const Derivative& derivative) {
  return Differentiable({x}, y, [x = x.detach(), y = y.detach(), derivative](const at::Tensor& dy, const auto&) {
    at::Tensor dx = NewLike(dy);
    derivative(dy.numel(), Data(x), Data(y), Data(dy), MutableData(dx));
    return Tensors{dx};
  });
}

// 2 u of GELU.
float GeluArgument(float x) { return kGeluScale * (x + kGeluCubic * (x * x) * x); }

void GeluGate(int64_t n, const float* x, float* gate) {
  for (int64_t i = 0; i < n; ++i) gate[i] = GeluArgument(x[i]);
  kernels::Sigmoid(gate, gate, static_cast<size_t>(n));
}

void Mask(double probability, const DropoutSite& site, const at::Tensor& x, const at::Tensor& y) {
  const uint32_t threshold = static_cast<uint32_t>(probability * kDropoutSteps + 0.5);
  const float scale = static_cast<float>(kDropoutSteps / static_cast<double>(kDropoutSteps - threshold));
  const float* const from = Data(x);
  float* const to = MutableData(y);
  for (int64_t begin = 0; begin < x.numel(); begin += kElementsOfDraw) {
    const std::array<uint32_t, 4> bits = DrawBits(
        site.pass_seed, kHostDropout, {.step = site.site, .token = static_cast<uint64_t>(begin / kElementsOfDraw)});
    const int64_t end = std::min(begin + kElementsOfDraw, x.numel());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = i - begin;
      const uint32_t drawn = bits[k / 2] >> (16 * (k % 2)) & (kDropoutSteps - 1);
      to[i] = drawn < threshold ? 0.0f : scale * from[i];
    }
  }
}

}  // namespace

at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight_NK, const at::Tensor& bias_N) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight_NK.size(0);
  at::Tensor y = NewFloats(shape);
  Multiply(x, weight_NK, y);
  Tensors inputs = {x, weight_NK};
  if (bias_N.defined()) {
    inputs.push_back(bias_N);
    AddToRows(Data(bias_N), MutableRowsOf(y));
  }
  return Differentiable(
      inputs, y, [x = x.detach(), w = weight_NK.detach()](const at::Tensor& dy, const std::vector<bool>& needed) {
        Tensors gradients(needed.size());
        if (needed[0]) MultiplyTransposed(dy, w, gradients[0] = NewLike(x));
        if (needed[1]) kernels::AccumulateWeightGradient(RowsOf(dy), RowsOf(x), Whole(gradients[1] = NewLike(w)));
        if (needed.size() > 2 && needed[2]) gradients[2] = ColumnSums(dy);
        return gradients;
      });
}

at::Tensor Relu(const at::Tensor& x) {
  at::Tensor y = NewLike(x);
  std::copy_n(Data(x), x.numel(), MutableData(y));
  kernels::Relu(y.numel(), MutableData(y));
  return Elementwise(x, y, [](int64_t n, const float*, const float* y, const float* dy, float* dx) {
    std::copy_n(dy, n, dx);
    kernels::ReluBackward(n, y, dx);
  });
}

at::Tensor Sigmoid(const at::Tensor& x) {
  at::Tensor y = NewLike(x);
  kernels::Sigmoid(Data(x), MutableData(y), static_cast<size_t>(x.numel()));
  return Elementwise(x, y, [](int64_t n, const float*, const float* y, const float* dy, float* dx) {
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * (y[i] * (1.0f - y[i]));
  });
}

at::Tensor Gelu(const at::Tensor& x) {
  at::Tensor y = NewLike(x);
  const float* const from = Data(x);
  float* const to = MutableData(y);
  GeluGate(x.numel(), from, to);
  for (int64_t i = 0; i < x.numel(); ++i) to[i] *= from[i];
  return Elementwise(x, y, [](int64_t n, const float* x, const float*, const float* dy, float* dx) {
    GeluGate(n, x, dx);
    for (int64_t i = 0; i < n; ++i) {
      const float gate = dx[i], slope = kGeluScale * (1.0f + 3.0f * kGeluCubic * (x[i] * x[i]));
      dx[i] = dy[i] * (gate + x[i] * (gate * (1.0f - gate)) * slope);
    }
  });
}

at::Tensor LayerNorm(const at::Tensor& x, const at::Tensor& gain_C, const at::Tensor& bias_C) {
  at::Tensor y = NewLike(x), normal = NewLike(x), inverse = NewFloats({RowsOf(x).rows});
  kernels::LayerNorm(RowsOf(x), Data(gain_C), Data(bias_C), kNormEpsilon, MutableRowsOf(y), MutableRowsOf(normal),
                     MutableData(inverse));
  return Differentiable({x, gain_C, bias_C}, y,
                        [=, gain = gain_C.detach()](const at::Tensor& dy, const std::vector<bool>& needed) {
                          Tensors gradients(3);
                          if (needed[0]) {
                            kernels::LayerNormInputGradient(RowsOf(normal), Data(inverse), Data(gain), RowsOf(dy),
                                                            MutableRowsOf(gradients[0] = NewLike(dy)));
                          }
                          if (needed[1]) {
                            kernels::AccumulateColumns(RowsOf(dy), RowsOf(normal), Whole(gradients[1] = NewLike(gain)));
                          }
                          if (needed[2]) gradients[2] = ColumnSums(dy);
                          return gradients;
                        });
}

at::Tensor DropElements(const at::Tensor& x, double probability, const DropoutSite& site) {
  at::Tensor y = NewLike(x);
  Mask(probability, site, x, y);
  return Differentiable({x}, y, [probability, site](const at::Tensor& dy, const auto&) {
    at::Tensor dx = NewLike(dy);
    Mask(probability, site, dy, dx);
    return Tensors{dx};
  });
}

}  // namespace reprise::models
