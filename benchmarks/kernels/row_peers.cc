#include "benchmarks/kernels/row_peers.h"

#include "ATen/ops/_softmax.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/mean.h"
#include "ATen/ops/mul.h"
#include "ATen/ops/rms_norm.h"
#include "ATen/ops/silu.h"
#include "ATen/ops/silu_backward.h"
#include "benchmarks/kernels/libtorch.h"

namespace reprise::benchmarks {
namespace {

constexpr double kEpsilon = 1e-5;

at::Tensor Random(int64_t rows, int64_t n) { return RandomTensorOnHugePages({rows, n}); }

}  // namespace

std::vector<Peer> SoftmaxPeers(int64_t rows, int64_t n) {
  const at::Tensor x = Random(rows, n);
  at::Tensor y = at::empty_like(x);
  return {{"aten", [=]() mutable { at::_softmax_out(y, x, -1, false); }}};
}

std::vector<Peer> RmsNormPeers(int64_t rows, int64_t n) {
  const at::Tensor x = Random(rows, n), gain = RandomTensor({n});
  return {{"aten", [=, kept = KeepFreedMemory()] { at::rms_norm(x, {n}, gain, kEpsilon); }}};
}

std::vector<Peer> RmsNormBackwardPeers(int64_t rows, int64_t n) {
  const at::Tensor x = Random(rows, n).requires_grad_(), gain = RandomTensor({n}).requires_grad_();
  const Peer peer = BackwardPeer("aten", at::rms_norm(x, {n}, gain, kEpsilon), {x, gain});
  return {{peer.name, [=, kept = KeepFreedMemory()] { peer.run(); }}};
}

std::vector<Peer> SiluGatePeers(int64_t rows, int64_t n) {
  const at::Tensor gate = Random(rows, n), up = Random(rows, n);
  at::Tensor y = at::empty_like(gate);
  return {{"aten", [=]() mutable { at::silu_out(y, gate).mul_(up); }}};
}

std::vector<Peer> SiluGateBackwardPeers(int64_t rows, int64_t n) {
  const at::Tensor gate = Random(rows, n), up = Random(rows, n), dy = Random(rows, n);
  at::Tensor dgate = at::empty_like(gate), dup = at::empty_like(gate), product = at::empty_like(gate);
  return {{"aten", [=]() mutable {
             at::silu_out(dup, gate).mul_(dy);
             at::silu_backward_out(dgate, at::mul_out(product, dy, up), gate);
           }}};
}

std::vector<Peer> MeanOfRowsPeers(int64_t rows, int64_t n) {
  const at::Tensor x = Random(rows, n);
  at::Tensor y = at::empty({n}, at::kFloat);
  return {{"aten", [=]() mutable { at::mean_out(y, x, 0); }}};
}

}  // namespace reprise::benchmarks
