#ifndef MODELS_MORPHOGENESIS_NETWORKS_ROW_OPS_H_
#define MODELS_MORPHOGENESIS_NETWORKS_ROW_OPS_H_

// Differentiable functions of rows: the last dimension of a tensor is a row, all others count rows.

#include "ATen/core/Tensor.h"
#include "core/random/draw.h"

namespace reprise::models {

// x [..., K] W[N, K]^T (+ bias [N], if it is defined) -> [..., N].
at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight_NK, const at::Tensor& bias_N = {});

at::Tensor Relu(const at::Tensor& x);
at::Tensor Sigmoid(const at::Tensor& x);

// The approximation of GELU by tanh (Hendrycks & Gimpel 2016), as GPT-2: x sigmoid(2 u) with
// u = sqrt(2 / pi) (x + 0.044715 x^3).
at::Tensor Gelu(const at::Tensor& x);

// Layer normalisation of rows, eps 1e-5.
at::Tensor LayerNorm(const at::Tensor& x, const at::Tensor& gain_C, const at::Tensor& bias_C);

// First step, prompt, sample: the episode, token: the training batch within it: the seed of a forward pass; then, with
// this seed, step: number of the dropout in the network, token: eight elements.
inline constexpr Purpose kHostDropout{20};

// Where a dropout's mask is drawn: the pass has its own seed, and each dropout of a network its own site.
struct DropoutSite {
  uint64_t pass_seed = 0;
  uint64_t site = 0;
};

// Sets elements to 0 with this probability, rounded to a multiple of 2^-16, and multiplies the others by 1 / (1 -
// that). Eight elements take one draw.
at::Tensor DropElements(const at::Tensor& x, double probability, const DropoutSite& site);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_ROW_OPS_H_
