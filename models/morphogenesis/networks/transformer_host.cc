// A GPT-2-like decoder: learned positions, pre-LN blocks, an lm-head tied to the token embedding. Weights are drawn
// from a normal distribution of deviation 0.02, as GPT-2's. GELU is the approximation by tanh. Dropout acts on the sum
// of the embeddings and on what a block adds to the residual stream, not on attention's probabilities.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/morphogenesis/networks/blend_ops.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/row_ops.h"
#include "models/morphogenesis/networks/token_ops.h"

namespace reprise::models {
namespace {

constexpr double kDeviation = 0.02;

struct Affine {
  at::Tensor weight, bias;
};

struct Layer {
  Affine norm1, qkv, projection, norm2, fc1, fc2;
};

Affine MakeNorm(WeightMaker* make, const std::string& name, int64_t c) {
  return {make->Constant(name + ".weight", {c}, 1), make->Constant(name + ".bias", {c}, 0)};
}

Affine MakeLinear(WeightMaker* make, const std::string& name, int64_t outputs, int64_t inputs) {
  return {make->Normal(name + ".weight", {outputs, inputs}, kDeviation), make->Constant(name + ".bias", {outputs}, 0)};
}

Layer MakeLayer(WeightMaker* make, const std::string& name, int64_t c) {
  Layer layer;
  layer.norm1 = MakeNorm(make, name + "norm1", c);
  layer.qkv = MakeLinear(make, name + "attention.qkv", 3 * c, c);
  layer.projection = MakeLinear(make, name + "attention.proj", c, c);
  layer.norm2 = MakeNorm(make, name + "norm2", c);
  layer.fc1 = MakeLinear(make, name + "mlp.fc1", 4 * c, c);
  layer.fc2 = MakeLinear(make, name + "mlp.fc2", c, 4 * c);
  return layer;
}

at::Tensor Apply(const Affine& linear, const at::Tensor& x) { return Linear(x, linear.weight, linear.bias); }

class TransformerHost : public Host {
 public:
  TransformerHost(const HostShape& shape, const EpisodeCoordinates& episode) : Host(shape) {
    WeightMaker make(episode, 0, &parameters_);
    const TransformerShape& t = shape.transformer;
    tokens_ = make.Normal("token_embedding.weight", {t.vocab_size, t.width}, kDeviation);
    positions_ = make.Normal("position_embedding.weight", {t.block_size, t.width}, kDeviation);
    for (int64_t i = 0; i < t.num_layers; ++i) {
      layers_.push_back(MakeLayer(&make, absl::StrCat("layers.", i, "."), t.width));
    }
    final_norm_ = MakeNorm(&make, "final_norm", t.width);
  }

  absl::Status CheckBatch(const HostBatch& batch) const override {
    const int64_t tokens = static_cast<int64_t>(batch.tokens_BT.size());
    if (batch.size < 1 || tokens == 0 || tokens % batch.size != 0 || batch.targets.size() != batch.tokens_BT.size()) {
      return absl::InvalidArgumentError(absl::StrCat("a host's batch of ", batch.size, " sequences has ", tokens,
                                                     " tokens and ", batch.targets.size(), " targets"));
    }
    const int64_t length = tokens / batch.size;
    if (length > shape_.transformer.block_size) {
      return absl::InvalidArgumentError(absl::StrCat("a sequence of ", length, " tokens exceeds the host's block size ",
                                                     shape_.transformer.block_size));
    }
    if (absl::Status status = CheckRange("token", batch.tokens_BT, shape_.transformer.vocab_size); !status.ok()) {
      return status;
    }
    return CheckRange("target", batch.targets, shape_.transformer.vocab_size);
  }

  BatchLoss Loss(const HostBatch& batch, const HostPass& pass, const AtInjection& at_injection) const override {
    const int64_t length = static_cast<int64_t>(batch.tokens_BT.size()) / batch.size;
    uint64_t site = 0;
    at::Tensor h = Drop(EmbedTokens(batch.tokens_BT, length, tokens_, positions_), pass, site++);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      const at::Tensor qkv = Apply(layer.qkv, LayerNorm(h, layer.norm1.weight, layer.norm1.bias));
      const at::Tensor attended = CausalAttention(qkv, shape_.transformer.num_heads);
      h = Add(h, Drop(Apply(layer.projection, attended), pass, site++));
      const at::Tensor hidden = Gelu(Apply(layer.fc1, LayerNorm(h, layer.norm2.weight, layer.norm2.bias)));
      h = Add(h, Drop(Apply(layer.fc2, hidden), pass, site++));
      h = at_injection(i, h);
    }
    return TokenCrossEntropy(LayerNorm(h, final_norm_.weight, final_norm_.bias), tokens_, batch.targets);
  }

 private:
  at::Tensor Drop(const at::Tensor& x, const HostPass& pass, uint64_t site) const {
    if (!pass.training || shape_.transformer.dropout == 0) return x;
    return DropElements(x, shape_.transformer.dropout, {pass.dropout_seed, site});
  }

  at::Tensor tokens_, positions_;
  std::vector<Layer> layers_;
  Affine final_norm_;
};

}  // namespace

std::unique_ptr<Host> BuildTransformerHost(const HostShape& shape, const EpisodeCoordinates& episode) {
  return std::make_unique<TransformerHost>(shape, episode);
}

}  // namespace reprise::models
