#ifndef MODELS_MORPHOGENESIS_NETWORKS_BLEND_OPS_H_
#define MODELS_MORPHOGENESIS_NETWORKS_BLEND_OPS_H_

// Differentiable mixtures of two tensors of the same shape.

#include "ATen/core/Tensor.h"

namespace reprise::models {

// h + s, elementwise.
at::Tensor Add(const at::Tensor& h, const at::Tensor& s);

// (1 - alpha) h + alpha s: h + alpha (s - h) for alpha < 0.5, else s - (1 - alpha) (s - h). Exactly h at 0, also where
// s is not finite, and exactly s at 1.
at::Tensor Blend(const at::Tensor& h, const at::Tensor& s, float alpha);

// The value of h exactly, also where s is not finite. The gradient goes to both, whole: h learns as if s did not exist,
// and s as if it were the output.
at::Tensor StraightThrough(const at::Tensor& h, const at::Tensor& s);

// x + scale (n - x), with one learnable number.
at::Tensor Mix(const at::Tensor& x, const at::Tensor& n, const at::Tensor& scale_1);

// x itself; the L2 norm of each gradient that passes is added to *passed, which must outlive the graph.
at::Tensor Probe(const at::Tensor& x, double* passed);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_BLEND_OPS_H_
