#ifndef BENCHMARKS_KERNELS_LIBTORCH_H_
#define BENCHMARKS_KERNELS_LIBTORCH_H_

// Helpers for peers that use LibTorch's operators.

#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

// Returns normal deviates. From then on LibTorch computes on one thread.
at::Tensor RandomTensor(at::IntArrayRef shape);

// Returns the same, on huge pages if it is large, like Reprise's tensors. From then on the results of operators are,
// too. Must be called before anything else of LibTorch.
at::Tensor RandomTensorOnHugePages(at::IntArrayRef shape);

// Makes the process keep freed memory until the last copy of the returned pointer is destroyed, so that results that an
// operator allocates in each call cause no page faults.
std::shared_ptr<void> KeepFreedMemory();

// Returns a peer that computes autograd's gradients of the leaves from a random gradient of `y`, the output of their
// graph, without the forward pass.
Peer BackwardPeer(const char* name, const at::Tensor& y, const std::vector<at::Tensor>& leaves);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_LIBTORCH_H_
