// Seeds of a transformer: see models/morphogenesis/life_cycle/blueprints.h.

#include <string>

#include "c10/util/Logging.h"  // its CHECK, which check.h would redefine, also prints and aborts
#include "models/morphogenesis/networks/blend_ops.h"
#include "models/morphogenesis/networks/row_ops.h"
#include "models/morphogenesis/networks/seed_module.h"
#include "models/morphogenesis/networks/token_ops.h"

namespace reprise::models {
namespace {

class NormSeed : public SeedModule {
 public:
  NormSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        gain_(make_.Constant("norm.weight", {c}, 1)),
        bias_(make_.Constant("norm.bias", {c}, 0)),
        scale_(make_.Constant("scale", {1}, 1)) {}

  at::Tensor Forward(const at::Tensor& x) const override { return Mix(x, LayerNorm(x, gain_, bias_), scale_); }

 private:
  at::Tensor gain_, bias_, scale_;
};

// The seed starts as the identity: `up` is 0.
class LoraSeed : public SeedModule {
 public:
  LoraSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        down_(make_.Uniform("down.weight", {kLoraRank, c}, c)),
        up_(make_.Constant("up.weight", {c, kLoraRank}, 0)) {}

  at::Tensor Forward(const at::Tensor& x) const override { return Add(x, Linear(Linear(x, down_), up_)); }

 private:
  at::Tensor down_, up_;
};

// The seed starts as the identity: the projection is 0.
class AttentionSeed : public SeedModule {
 public:
  AttentionSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        qkv_(make_.Uniform("qkv.weight", {3 * c, c}, c)),
        qkv_bias_(make_.Uniform("qkv.bias", {3 * c}, c)),
        projection_(make_.Constant("proj.weight", {c, c}, 0)),
        projection_bias_(make_.Constant("proj.bias", {c}, 0)) {}

  at::Tensor Forward(const at::Tensor& x) const override {
    const at::Tensor attended = CausalAttention(Linear(x, qkv_, qkv_bias_), kSeedHeads);
    return Add(x, Linear(attended, projection_, projection_bias_));
  }

 private:
  at::Tensor qkv_, qkv_bias_, projection_, projection_bias_;
};

// The seed starts as the identity: fc2 is 0.
class MlpSeed : public SeedModule {
 public:
  MlpSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        fc1_(make_.Uniform("fc1.weight", {4 * c, c}, c)),
        fc1_bias_(make_.Uniform("fc1.bias", {4 * c}, c)),
        fc2_(make_.Constant("fc2.weight", {c, 4 * c}, 0)),
        fc2_bias_(make_.Constant("fc2.bias", {c}, 0)) {}

  at::Tensor Forward(const at::Tensor& x) const override {
    return Add(x, Linear(Gelu(Linear(x, fc1_, fc1_bias_)), fc2_, fc2_bias_));
  }

 private:
  at::Tensor fc1_, fc1_bias_, fc2_, fc2_bias_;
};

}  // namespace

std::unique_ptr<SeedModule> BuildTransformerSeed(BlueprintKind kind, int64_t width, const EpisodeCoordinates& episode,
                                                 uint64_t first_tensor) {
  switch (kind) {
    case BlueprintKind::kNorm:
      return std::make_unique<NormSeed>(episode, first_tensor, width);
    case BlueprintKind::kLora:
      return std::make_unique<LoraSeed>(episode, first_tensor, width);
    case BlueprintKind::kCausalAttention:
      return std::make_unique<AttentionSeed>(episode, first_tensor, width);
    case BlueprintKind::kMlp:
      return std::make_unique<MlpSeed>(episode, first_tensor, width);
    case BlueprintKind::kSqueezeExcite:
    case BlueprintKind::kDepthwise:
    case BlueprintKind::kConvLight:
    case BlueprintKind::kConvHeavy:
      break;
  }
  LOG(FATAL) << "a blueprint of CNNs";
  return nullptr;
}

}  // namespace reprise::models
