#ifndef MODELS_MORPHOGENESIS_NETWORKS_AUTOGRAD_NODE_H_
#define MODELS_MORPHOGENESIS_NETWORKS_AUTOGRAD_NODE_H_

// Functions with an own gradient as nodes of LibTorch's graphs. All arithmetic of hosts and seeds is done in such
// functions, by kernels/: LibTorch carries tensors and the order of the backward pass, and adds gradients that meet
// (one addition of two floats for each element), so that no bit depends on the instruction set, MKL or oneDNN.

#include <functional>
#include <vector>

#include "ATen/core/Tensor.h"
#include "kernels/contract/operands.h"

namespace reprise::models {

using Tensors = std::vector<at::Tensor>;

// Returns the gradients by a node's inputs, given that by its output, which is contiguous. `needed`: which of them are
// used; others may be undefined.
using BackwardFunction = std::function<Tensors(const at::Tensor& dy, const std::vector<bool>& needed)>;

// Makes `y`, a new tensor that was computed from `inputs` (defined, floats), differentiable by them. `backward` may
// keep detached tensors, never `y` itself, which would then own itself.
at::Tensor Differentiable(const Tensors& inputs, at::Tensor y, BackwardFunction backward);

// A new contiguous tensor of floats, not initialised; of the shape of another.
at::Tensor NewFloats(at::IntArrayRef shape);
at::Tensor NewLike(const at::Tensor& x);
at::Tensor NewZerosLike(const at::Tensor& x);

// The elements of a contiguous tensor of floats (checked), as rows of its last dimension.
kernels::ConstRows RowsOf(const at::Tensor& x);
kernels::Rows MutableRowsOf(const at::Tensor& x);
inline const float* Data(const at::Tensor& x) { return RowsOf(x).data; }
inline float* MutableData(const at::Tensor& x) { return MutableRowsOf(x).data; }

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_NETWORKS_AUTOGRAD_NODE_H_
