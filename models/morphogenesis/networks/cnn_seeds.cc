// Seeds of a CNN: see models/morphogenesis/life_cycle/blueprints.h.

#include <string>

#include "c10/util/Logging.h"  // its CHECK, which check.h would redefine, also prints and aborts
#include "models/morphogenesis/networks/blend_ops.h"
#include "models/morphogenesis/networks/image_ops.h"
#include "models/morphogenesis/networks/row_ops.h"
#include "models/morphogenesis/networks/seed_module.h"

namespace reprise::models {
namespace {

// Group normalisation with gain and bias.
class Norm {
 public:
  Norm(WeightMaker* make, const std::string& name, int64_t channels, int64_t groups)
      : groups_(groups),
        gain_(make->Constant(name + ".weight", {channels}, 1)),
        bias_(make->Constant(name + ".bias", {channels}, 0)) {}

  at::Tensor operator()(const at::Tensor& x) const { return GroupNorm(x, groups_, gain_, bias_); }

 private:
  int64_t groups_;
  at::Tensor gain_, bias_;
};

// relu(GN(conv3x3(x))).
class ConvolutionBlock {
 public:
  ConvolutionBlock(WeightMaker* make, const std::string& name, int64_t c)
      : weight_(make->Uniform(name + "conv.weight", {c, 3, 3, c}, 9 * c)),
        norm_(make, name + "norm", c, ConvolutionGroups(c)) {}

  at::Tensor operator()(const at::Tensor& x) const { return Relu(norm_(Convolve(x, weight_))); }

 private:
  at::Tensor weight_;
  Norm norm_;
};

class NormSeed : public SeedModule {
 public:
  NormSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        norm_(&make_, "norm", c, NormGroups(c)),
        scale_(make_.Constant("scale", {1}, 1)) {}

  at::Tensor Forward(const at::Tensor& x) const override { return Mix(x, norm_(x), scale_); }

 private:
  Norm norm_;
  at::Tensor scale_;
};

// Squeeze and excitation (Hu et al. 2018).
class SqueezeExciteSeed : public SeedModule {
 public:
  SqueezeExciteSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        squeeze_(make_.Uniform("squeeze.weight", {SqueezedChannels(c), c}, c)),
        excite_(make_.Uniform("excite.weight", {c, SqueezedChannels(c)}, SqueezedChannels(c))) {}

  at::Tensor Forward(const at::Tensor& x) const override {
    return ScaleChannels(x, Sigmoid(Linear(Relu(Linear(MeanOfImages(x), squeeze_)), excite_)));
  }

 private:
  at::Tensor squeeze_, excite_;
};

class DepthwiseSeed : public SeedModule {
 public:
  DepthwiseSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor),
        depthwise_(make_.Uniform("depthwise.weight", {c, 3, 3}, 9)),
        pointwise_(make_.Uniform("pointwise.weight", {c, c}, c)),
        norm_(&make_, "norm", c, ConvolutionGroups(c)) {}

  at::Tensor Forward(const at::Tensor& x) const override {
    return Add(x, Relu(norm_(Linear(ConvolveDepthwise(x, depthwise_), pointwise_))));
  }

 private:
  at::Tensor depthwise_, pointwise_;
  Norm norm_;
};

class LightSeed : public SeedModule {
 public:
  LightSeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor), block_(&make_, "", c) {}

  at::Tensor Forward(const at::Tensor& x) const override { return Add(x, block_(x)); }

 private:
  ConvolutionBlock block_;
};

class HeavySeed : public SeedModule {
 public:
  HeavySeed(const EpisodeCoordinates& episode, uint64_t first_tensor, int64_t c)
      : SeedModule(episode, first_tensor), first_(&make_, "first.", c), second_(&make_, "second.", c) {}

  at::Tensor Forward(const at::Tensor& x) const override { return Add(x, second_(first_(x))); }

 private:
  ConvolutionBlock first_, second_;
};

}  // namespace

std::unique_ptr<SeedModule> BuildCnnSeed(BlueprintKind kind, int64_t channels, const EpisodeCoordinates& episode,
                                         uint64_t first_tensor) {
  switch (kind) {
    case BlueprintKind::kNorm:
      return std::make_unique<NormSeed>(episode, first_tensor, channels);
    case BlueprintKind::kSqueezeExcite:
      return std::make_unique<SqueezeExciteSeed>(episode, first_tensor, channels);
    case BlueprintKind::kDepthwise:
      return std::make_unique<DepthwiseSeed>(episode, first_tensor, channels);
    case BlueprintKind::kConvLight:
      return std::make_unique<LightSeed>(episode, first_tensor, channels);
    case BlueprintKind::kConvHeavy:
      return std::make_unique<HeavySeed>(episode, first_tensor, channels);
    case BlueprintKind::kLora:
    case BlueprintKind::kCausalAttention:
    case BlueprintKind::kMlp:
      break;
  }
  LOG(FATAL) << "a blueprint of transformers";
  return nullptr;
}

}  // namespace reprise::models
