#include "benchmarks/kernels/token_peers.h"

#include <tuple>

#include "ATen/ops/_softmax.h"
#include "ATen/ops/argmax.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/full.h"
#include "ATen/ops/index_select.h"
#include "ATen/ops/multinomial.h"
#include "ATen/ops/softmax.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/topk.h"
#include "benchmarks/kernels/libtorch.h"

namespace reprise::benchmarks {
namespace {

at::Tensor Random(int64_t rows, int64_t n) { return RandomTensorOnHugePages({rows, n}); }

at::Tensor Indices(absl::Span<const int32_t> values) {
  at::Tensor indices = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  for (size_t i = 0; i < values.size(); ++i) indices.data_ptr<int64_t>()[i] = values[i];
  return indices;
}

struct Chosen {
  at::Tensor values, indices;
};

Chosen MakeChosen(int64_t rows, int64_t n) { return {at::empty({rows, n}), at::empty({rows, n}, at::kLong)}; }

}  // namespace

std::vector<Peer> EmbedPeers(absl::Span<const int32_t> token_T, int64_t width, int64_t vocabulary) {
  at::Tensor y = Random(static_cast<int64_t>(token_T.size()), width);
  const at::Tensor table = at::full({vocabulary, width}, 0.5f), token = Indices(token_T);
  return {{"aten", [=]() mutable { at::index_select_out(y, table, 0, token); }}};
}

std::vector<Peer> EmbedBackwardPeers(absl::Span<const int32_t> token_T, int64_t width, int64_t vocabulary) {
  const at::Tensor dy = Random(static_cast<int64_t>(token_T.size()), width), token = Indices(token_T);
  at::Tensor gradient = at::full({vocabulary, width}, 0.0f);
  return {{"aten", [=]() mutable { gradient.index_add_(0, token, dy); }}};
}

std::vector<Peer> RouterPeers(int64_t tokens, int64_t experts, int64_t per_token) {
  const at::Tensor logits = Random(tokens, experts);
  at::Tensor probability = at::empty_like(logits);
  Chosen chosen = MakeChosen(tokens, per_token);
  return {{"aten", [=]() mutable {
             at::_softmax_out(probability, logits, -1, false);
             at::topk_out(chosen.values, chosen.indices, probability, per_token, -1, true, /*sorted=*/false);
           }}};
}

std::vector<Peer> RouterBackwardPeers(int64_t tokens, int64_t experts, int64_t per_token) {
  const at::Tensor logits = Random(tokens, experts).requires_grad_();
  const Peer peer = BackwardPeer("aten", std::get<0>(at::topk(at::softmax(logits, -1), per_token)), {logits});
  return {{peer.name, [=, kept = KeepFreedMemory()] { peer.run(); }}};
}

std::vector<Peer> SamplingPeers(int64_t rows, int64_t vocabulary, int64_t top_k) {
  const at::Tensor logits = Random(rows, vocabulary);
  const int64_t kept = top_k > 0 ? top_k : vocabulary;
  at::Tensor probability = at::empty({rows, kept}), token = at::empty({rows, 1}, at::kLong);
  Chosen chosen = MakeChosen(rows, kept);
  return {{"aten", [=]() mutable {
             if (top_k > 0) at::topk_out(chosen.values, chosen.indices, logits, top_k);
             at::_softmax_out(probability, top_k > 0 ? chosen.values : logits, -1, false);
             at::multinomial_out(token, probability, 1);
           }}};
}

std::vector<Peer> ArgmaxPeers(int64_t rows, int64_t vocabulary) {
  const at::Tensor logits = Random(rows, vocabulary);
  at::Tensor token = at::empty({rows}, at::kLong);
  return {{"aten", [=]() mutable { at::argmax_out(token, logits, -1); }}};
}

}  // namespace reprise::benchmarks
