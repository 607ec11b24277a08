#include "benchmarks/kernels/libtorch.h"

#include <malloc.h>

#include <climits>
#include <cstdlib>

#include "ATen/Parallel.h"
#include "ATen/ops/randn.h"
#include "torch/csrc/api/include/torch/autograd.h"

namespace reprise::benchmarks {

at::Tensor RandomTensor(at::IntArrayRef shape) {
  at::set_num_threads(1);
  return at::randn(shape);
}

at::Tensor RandomTensorOnHugePages(at::IntArrayRef shape) {
  static const int asked = setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
  static_cast<void>(asked);
  return RandomTensor(shape);
}

std::shared_ptr<void> KeepFreedMemory() {
  constexpr int kDefaultMaps = 65536, kDefaultTrim = 128 << 10;  // glibc's
  mallopt(M_MMAP_MAX, 0);  // otherwise every large block is mapped, and unmapped when it is freed
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  return {nullptr, [](void*) {
            mallopt(M_MMAP_MAX, kDefaultMaps);
            mallopt(M_TRIM_THRESHOLD, kDefaultTrim);
            malloc_trim(0);  // returns small pages, which the next arrays would reuse
          }};
}

Peer BackwardPeer(const char* name, const at::Tensor& y, const std::vector<at::Tensor>& leaves) {
  const at::Tensor dy = at::randn(y.sizes());
  return {name, [=] { torch::autograd::grad({y}, leaves, {dy}, /*retain_graph=*/true); }};
}

}  // namespace reprise::benchmarks
