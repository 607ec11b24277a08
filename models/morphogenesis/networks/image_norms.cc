#include <cmath>
#include <utility>

#include "kernels/images/segment_norm.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/image_ops.h"

namespace reprise::models {
namespace {

using kernels::NormShape;

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;  // of running statistics

struct Statistics {
  at::Tensor mean, variance;  // [segments, groups]
};

at::Tensor Normalise(const NormShape& shape, const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias,
                     Statistics* statistics) {
  at::Tensor y = NewLike(x), normal = NewLike(x), inverse = NewFloats({shape.segments, shape.groups});
  statistics->mean = NewLike(inverse);
  statistics->variance = NewLike(inverse);
  kernels::SegmentNorm(shape, Data(x), Data(gain), Data(bias),
                       {MutableData(y), MutableData(normal), MutableData(statistics->mean),
                        MutableData(statistics->variance), MutableData(inverse)});
  return Differentiable({x, gain, bias}, y, [=, gain = gain.detach()](const at::Tensor& dy, const auto&) {
    Tensors gradients = {NewLike(dy), NewLike(gain), NewLike(gain)};
    kernels::SegmentNormBackward(shape, Data(dy), Data(normal), Data(inverse), Data(gain),
                                 {MutableData(gradients[0]), MutableData(gradients[1]), MutableData(gradients[2])});
    return gradients;
  });
}

void Update(const at::Tensor& of_batch, double factor, const at::Tensor& running) {
  float* const value = MutableData(running);
  for (int64_t c = 0; c < running.numel(); ++c) {
    const double now = factor * static_cast<double>(Data(of_batch)[c]);
    value[c] = static_cast<float>((1 - kMomentum) * static_cast<double>(value[c]) + kMomentum * now);
  }
}

at::Tensor NormaliseByRunning(const NormShape& shape, const at::Tensor& x, const at::Tensor& gain,
                              const at::Tensor& bias, const RunningStatistics& running) {
  at::Tensor y = NewLike(x), inverse = NewLike(running.variance_C);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const double variance = static_cast<double>(Data(running.variance_C)[c]);
    MutableData(inverse)[c] = static_cast<float>(1.0 / std::sqrt(variance + kEpsilon));
  }
  kernels::NormWithStatistics(shape, Data(x), Data(gain), Data(bias), Data(running.mean_C), Data(inverse),
                              MutableData(y));
  return y;
}

}  // namespace

at::Tensor GroupNorm(const at::Tensor& x_BHWC, int64_t groups, const at::Tensor& gain_C, const at::Tensor& bias_C) {
  Statistics unused;
  const NormShape shape = {x_BHWC.size(0), x_BHWC.size(1) * x_BHWC.size(2), x_BHWC.size(3), groups, kEpsilon};
  return Normalise(shape, x_BHWC, gain_C, bias_C, &unused);
}

at::Tensor BatchNorm(const at::Tensor& x_BHWC, const at::Tensor& gain_C, const at::Tensor& bias_C,
                     const RunningStatistics& running, bool training) {
  const int64_t channels = x_BHWC.size(3), rows = x_BHWC.numel() / channels;
  const NormShape shape = {1, rows, channels, channels, kEpsilon};
  if (!training) return NormaliseByRunning(shape, x_BHWC, gain_C, bias_C, running);
  Statistics statistics;
  at::Tensor y = Normalise(shape, x_BHWC, gain_C, bias_C, &statistics);
  Update(statistics.mean, 1.0, running.mean_C);
  Update(statistics.variance, rows > 1 ? static_cast<double>(rows) / static_cast<double>(rows - 1) : 1.0,
         running.variance_C);
  return y;
}

}  // namespace reprise::models
