#ifndef MODELS_MORPHOGENESIS_NETWORKS_IMAGE_OPS_H_
#define MODELS_MORPHOGENESIS_NETWORKS_IMAGE_OPS_H_

// Differentiable functions of images [B, H, W, C], the channel fastest.

#include "ATen/core/Tensor.h"

namespace reprise::models {

// 3x3 convolution with zero padding, without bias; weight [outputs, 3, 3, C].
at::Tensor Convolve(const at::Tensor& x_BHWC, const at::Tensor& weight);

// The same for each channel by itself; weight [C, 3, 3].
at::Tensor ConvolveDepthwise(const at::Tensor& x_BHWC, const at::Tensor& weight);

// The maximum of 2x2 windows, stride 2: [B, H / 2, W / 2, C]. The first of equal pixels gets the gradient.
at::Tensor MaxPool(const at::Tensor& x_BHWC);

// The mean over an image's pixels: [B, C].
at::Tensor MeanOfImages(const at::Tensor& x_BHWC);

// Multiplies the channels of each image: x * scale [B, C].
at::Tensor ScaleChannels(const at::Tensor& x_BHWC, const at::Tensor& scale_BC);

// Group normalisation, eps 1e-5; groups divides C.
at::Tensor GroupNorm(const at::Tensor& x_BHWC, int64_t groups, const at::Tensor& gain_C, const at::Tensor& bias_C);

// What batch normalisation knows of the images that it has seen. Updated in place by BatchNorm in training:
// new = 0.9 old + 0.1 of the batch, with the unbiased variance.
struct RunningStatistics {
  at::Tensor mean_C, variance_C;
};

// Batch normalisation, eps 1e-5: with the batch's statistics in training, else with the running ones (and then not
// differentiable by gain and bias, which only training needs).
at::Tensor BatchNorm(const at::Tensor& x_BHWC, const at::Tensor& gain_C, const at::Tensor& bias_C,
                     const RunningStatistics& running, bool training);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_IMAGE_OPS_H_
