#include "models/morphogenesis/networks/blend_ops.h"

#include <algorithm>

#include "kernels/rows/elementwise.h"
#include "models/morphogenesis/life_cycle/gradient_statistics.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

at::Tensor CopyOf(const at::Tensor& x) {
  at::Tensor y = NewLike(x);
  std::copy_n(Data(x), x.numel(), MutableData(y));
  return y;
}

at::Tensor Times(float factor, const at::Tensor& x) {
  at::Tensor y = NewLike(x);
  float* const to = MutableData(y);
  std::transform(Data(x), Data(x) + x.numel(), to, [factor](float value) { return factor * value; });
  return y;
}

void BlendInto(int64_t n, float alpha, const float* h, const float* s, float* y) {
  if (alpha == 0) {
    std::copy_n(h, n, y);
  } else if (alpha == 1) {
    std::copy_n(s, n, y);
  } else if (alpha < 0.5f) {
    for (int64_t i = 0; i < n; ++i) y[i] = h[i] + alpha * (s[i] - h[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = s[i] - (1.0f - alpha) * (s[i] - h[i]);
  }
}

// The sum of dy (n - x), in double, ascending.
float MixScaleGradient(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& n) {
  const float *const d = Data(dy), *const from = Data(x), *const to = Data(n);
  double sum = 0;
  for (int64_t i = 0; i < dy.numel(); ++i) sum += static_cast<double>(d[i]) * static_cast<double>(to[i] - from[i]);
  return static_cast<float>(sum);
}

}  // namespace

at::Tensor Add(const at::Tensor& h, const at::Tensor& s) {
  at::Tensor y = NewLike(h);
  kernels::Add(h.numel(), Data(h), Data(s), MutableData(y));
  return Differentiable({h, s}, y, [](const at::Tensor& dy, const auto&) { return Tensors{dy, dy}; });
}

at::Tensor Blend(const at::Tensor& h, const at::Tensor& s, float alpha) {
  at::Tensor y = NewLike(h);
  BlendInto(h.numel(), alpha, Data(h), Data(s), MutableData(y));
  return Differentiable({h, s}, y, [alpha](const at::Tensor& dy, const std::vector<bool>& needed) {
    return Tensors{needed[0] ? Times(1.0f - alpha, dy) : at::Tensor(), needed[1] ? Times(alpha, dy) : at::Tensor()};
  });
}

at::Tensor StraightThrough(const at::Tensor& h, const at::Tensor& s) {
  return Differentiable({h, s}, CopyOf(h), [](const at::Tensor& dy, const auto&) { return Tensors{dy, dy}; });
}

at::Tensor Mix(const at::Tensor& x, const at::Tensor& n, const at::Tensor& scale_1) {
  const float scale = Data(scale_1)[0];
  at::Tensor y = NewLike(x);
  const float *const from = Data(x), *const towards = Data(n);
  float* const to = MutableData(y);
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] + scale * (towards[i] - from[i]);
  return Differentiable({x, n, scale_1}, y,
                        [scale, x = x.detach(), n = n.detach()](const at::Tensor& dy, const std::vector<bool>& needed) {
                          Tensors gradients(3);
                          if (needed[0]) gradients[0] = Times(1.0f - scale, dy);
                          if (needed[1]) gradients[1] = Times(scale, dy);
                          if (needed[2]) MutableData(gradients[2] = NewFloats({1}))[0] = MixScaleGradient(dy, x, n);
                          return gradients;
                        });
}

at::Tensor Probe(const at::Tensor& x, double* passed) {
  return Differentiable({x}, CopyOf(x), [passed](const at::Tensor& dy, const auto&) {
    *passed += GradientNorm({Data(dy), static_cast<size_t>(dy.numel())});
    return Tensors{dy};
  });
}

}  // namespace reprise::models
