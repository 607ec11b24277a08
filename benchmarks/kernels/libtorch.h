#ifndef BENCHMARKS_KERNELS_LIBTORCH_H_
#define BENCHMARKS_KERNELS_LIBTORCH_H_

// What peers made of LibTorch's operators have in common.

#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

// Normal deviates. LibTorch computes on one thread from then on.
at::Tensor RandomTensor(at::IntArrayRef shape);

// The same on huge pages if it is large, as the product's tensors are; and so is what operators make of it. To be
// called before anything else of LibTorch.
at::Tensor RandomTensorOnHugePages(at::IntArrayRef shape);

// Memory that this process frees stays with it until the last copy of what is returned is gone: a result that an
// operator makes anew in each call costs no page faults.
std::shared_ptr<void> KeepFreedMemory();

// autograd's gradients of the leaves from a random one of `y`, their graph's output; without the forward pass.
Peer BackwardPeer(const char* name, const at::Tensor& y, const std::vector<at::Tensor>& leaves);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_LIBTORCH_H_
