#include "benchmarks/kernels/update_peers.h"

#include "ATen/ops/_fused_adamw.h"
#include "ATen/ops/addmm.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "ATen/ops/linalg_vector_norm.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/sum.h"
#include "benchmarks/kernels/libtorch.h"

namespace reprise::benchmarks {

std::vector<Peer> SumPeers(int64_t doubles) {
  const at::Tensor x = RandomTensorOnHugePages({doubles}).to(at::kDouble);
  at::Tensor sum = at::empty({}, at::kDouble);
  return {{"aten", [=]() mutable { at::sum_out(sum, x, at::OptionalIntArrayRef()); }}};
}

std::vector<Peer> NormPeers(int64_t floats) {
  const at::Tensor x = RandomTensorOnHugePages({floats});
  at::Tensor norm = at::empty({});
  return {{"aten", [=]() mutable { at::linalg_vector_norm_out(norm, x); }}};
}

std::vector<Peer> AddPeers(int64_t floats) {
  at::Tensor a = RandomTensorOnHugePages({floats});
  const at::Tensor b = RandomTensorOnHugePages({floats});
  return {{"aten", [=]() mutable { a.add_(b); }}};
}

std::vector<Peer> AdamWPeers(int64_t floats) {
  const std::vector<at::Tensor> gradients = {RandomTensorOnHugePages({floats})}, weights = {at::full({floats}, 1.0f)};
  const std::vector<at::Tensor> first = {at::full({floats}, 0.0f)}, second = {at::full({floats}, 0.0f)};
  const std::vector<at::Tensor> step = {at::full({}, 1.0f)};
  return {{"aten", [=] {
             at::_fused_adamw_(weights, gradients, first, second, {}, step, /*lr=*/1e-4, 0.9, 0.999,
                               /*weight_decay=*/0.0, /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false);
           }}};
}

std::vector<Peer> NewtonSchulzPeers(int64_t rows, int64_t width, int64_t steps) {
  const at::Tensor matrix = RandomTensorOnHugePages({rows, width});
  return {{"aten", [=] {
             at::Tensor x = rows > width ? matrix.t().clone() : matrix.clone();
             x.div_(at::linalg_vector_norm(x).clamp_min(1e-7));
             for (int64_t step = 0; step < steps; ++step) {
               const at::Tensor a = at::mm(x, x.t());
               const at::Tensor b = at::addmm(a, a, a, /*beta=*/-4.7750, /*alpha=*/2.0315);
               x = at::addmm(x, b, x, /*beta=*/3.4445);
             }
           }}};
}

}  // namespace reprise::benchmarks
