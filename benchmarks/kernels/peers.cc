#include "benchmarks/kernels/peers.h"

#include <optional>
#include <string_view>

#include "ATen/Context.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/index_select.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/silu.h"
#include "ATen/ops/zeros_like.h"
#include "benchmarks/kernels/libtorch.h"

namespace reprise::benchmarks {
namespace {

// Returns x [rows, k] W [n, k]^T by oneDNN. `packed` is the result of PackForOneDnn, or W itself.
at::Tensor OneDnnLinear(const at::Tensor& x, const at::Tensor& packed) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                               c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto linear =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Signature>();
  return linear.call(x, packed, std::nullopt, "none", c10::List<std::optional<at::Scalar>>(), "");
}

at::Tensor PackForOneDnn(const at::Tensor& w, int64_t rows) {
  using Signature = at::Tensor(const at::Tensor&, std::optional<int64_t>);
  static const auto reorder =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_reorder_linear_weight", "").typed<Signature>();
  return reorder.call(w, rows);
}

}  // namespace

std::vector<Peer> ForwardPeers(int64_t rows, int64_t n, int64_t k) {
  const at::Tensor x = RandomTensor({rows, k}), w = RandomTensor({n, k}), packed = PackForOneDnn(w, rows);
  return {{"mkl", [=] { at::mm(x, w.t()); }}, {"onednn", [=] { OneDnnLinear(x, packed); }}};
}

std::vector<Peer> InputGradientPeers(int64_t rows, int64_t n, int64_t k) {
  const at::Tensor dy = RandomTensor({rows, n}), w = RandomTensor({n, k}),
                   packed = PackForOneDnn(w.t().contiguous(), rows);
  return {{"mkl", [=] { at::mm(dy, w); }}, {"onednn", [=] { OneDnnLinear(dy, packed); }}};
}

std::vector<Peer> WeightGradientPeers(int64_t rows, int64_t n, int64_t k) {
  const at::Tensor dy = RandomTensor({rows, n}), x = RandomTensor({rows, k});
  // oneDNN's linear operator needs both operands transposed: it copies one and packs the other.
  return {{"mkl", [=] { at::mm(dy.t(), x); }}, {"onednn", [=] { OneDnnLinear(dy.t().contiguous(), x.t()); }}};
}

std::vector<Peer> ExpertsPeers(int64_t tokens, int64_t width, int64_t expert_width, int64_t experts, int64_t per_token,
                               bool backward) {
  const at::Tensor x = RandomTensor({tokens, width});
  std::vector<at::Tensor> leaves = {x}, row_E, weight_E;
  for (int64_t e = 0; e < experts; ++e) {
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < tokens; ++t) {
      if ((e - t % experts + experts) % experts < per_token) rows.push_back(t);
    }
    row_E.push_back(at::from_blob(rows.data(), {static_cast<int64_t>(rows.size())}, at::kLong).clone());
    weight_E.push_back(RandomTensor({static_cast<int64_t>(rows.size()), 1}));
    leaves.push_back(RandomTensor({2 * expert_width, width}));
    leaves.push_back(RandomTensor({width, expert_width}));
  }
  const auto forward = [=] {
    at::Tensor y = at::zeros_like(x);
    for (int64_t e = 0; e < experts; ++e) {
      const size_t i = static_cast<size_t>(e);
      if (row_E[i].numel() == 0) continue;
      const auto gate_up = at::linear(at::index_select(x, 0, row_E[i]), leaves[1 + 2 * i]).chunk(2, -1);
      const at::Tensor out = at::linear(at::silu(gate_up[0]).mul(gate_up[1]), leaves[2 + 2 * i]);
      y.index_add_(0, row_E[i], out.mul(weight_E[i]));
    }
    return y;
  };
  if (!backward) return {{"loop", forward}};
  std::vector<at::Tensor> used = {x};
  x.requires_grad_();
  for (size_t e = 0; e < row_E.size(); ++e) {
    if (row_E[e].numel() == 0) continue;
    used.push_back(leaves[1 + 2 * e].requires_grad_());
    used.push_back(leaves[2 + 2 * e].requires_grad_());
  }
  return {BackwardPeer("loop", forward(), used)};
}

std::vector<Peer> AttentionPeers(int64_t heads, int64_t queries, int64_t keys, int64_t head_width, bool backward) {
  const at::Tensor q = RandomTensor({1, heads, queries, head_width});
  const at::Tensor k = RandomTensor({1, heads, keys, head_width}), v = RandomTensor({1, heads, keys, head_width});
  const auto forward = [=] {
    return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, /*is_causal=*/queries > 1);
  };
  if (!backward) return {{"sdpa", forward}};
  for (const at::Tensor& leaf : {q, k, v}) leaf.requires_grad_();
  return {BackwardPeer("sdpa", forward(), {q, k, v})};
}

}  // namespace reprise::benchmarks
