// Hosts and blueprints: sizes, shapes, and what their weights are.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/seed_module.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::HasSubstr;

at::Tensor Random(std::vector<int64_t> shape, uint64_t salt) {
  at::Tensor x = NewFloats(shape);
  float* const to = MutableData(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const DrawAt at = {.step = salt, .token = static_cast<uint64_t>(i)};
    to[i] = static_cast<float>(2 * DrawUniform(4, Purpose::kTest, at) - 1);
  }
  return x;
}

HostShape SmallTransformer() {
  HostShape shape;
  shape.topology = Topology::kTransformer;
  shape.transformer = {.vocab_size = 11, .width = 8, .num_heads = 2, .num_layers = 2, .block_size = 6, .dropout = 0.1};
  return shape;
}

at::Tensor Unchanged(size_t, const at::Tensor& h) { return h; }

TEST(CnnHostTest, OfCifar10Has6418Parameters) {
  const std::unique_ptr<Host> host = BuildHost(FindHostTask("cifar10")->shape, {});
  EXPECT_EQ(ElementsOf(host->parameters()), 6418);
  EXPECT_EQ(ElementsOf(host->buffers()), 2 * (8 + 16 + 32));
}

TEST(CnnHostTest, OffersTheChannelsOfItsInjectionPoints) {
  const HostShape shape = FindHostTask("cifar10")->shape;
  const std::unique_ptr<Host> host = BuildHost(shape, {});
  const std::vector<float> images(2 * 32 * 32 * 3, 0.5f);
  std::vector<std::vector<int64_t>> shapes;
  host->Loss({.size = 2, .images_BHWC = images, .targets = {1, 2}}, {}, [&](size_t point, const at::Tensor& h) {
    EXPECT_EQ(point, shapes.size());
    shapes.push_back(h.sizes().vec());
    return h;
  });
  EXPECT_THAT(shapes, ::testing::ElementsAre(std::vector<int64_t>{2, 8, 8, 16}, std::vector<int64_t>{2, 4, 4, 32}));
}

TEST(CnnHostTest, RefusesBatchesThatDoNotFit) {
  const std::unique_ptr<Host> host = BuildHost(FindHostTask("cifar10")->shape, {});
  const std::vector<float> images(2 * 32 * 32 * 3);
  EXPECT_OK(host->CheckBatch({.size = 2, .images_BHWC = images, .targets = {0, 9}}));
  EXPECT_THAT(host->CheckBatch({.size = 3, .images_BHWC = images, .targets = {0, 9, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3072")));
  EXPECT_THAT(host->CheckBatch({.size = 2, .images_BHWC = images, .targets = {0}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 targets")));
  EXPECT_THAT(host->CheckBatch({.size = 2, .images_BHWC = images, .targets = {0, 10}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target 1")));
}

TEST(TransformerHostTest, TiesItsHeadToTheTokenEmbedding) {
  const std::unique_ptr<Host> host = BuildHost(SmallTransformer(), {});
  const int64_t c = 8, of_layer = 4 * c + (3 * c * c + 3 * c) + (c * c + c) + (8 * c * c + 5 * c);
  EXPECT_EQ(ElementsOf(host->parameters()), 11 * c + 6 * c + 2 * of_layer + 2 * c);  // no head of its own
  const std::vector<int32_t> tokens = {1, 2, 3}, targets = {2, 3, 9};
  const BatchLoss loss = host->Loss({.size = 1, .tokens_BT = tokens, .targets = targets}, {}, Unchanged);
  const at::Tensor table = host->parameters()[0].tensor;
  const at::Tensor gradient = torch::autograd::grad({loss.mean}, {table})[0];
  // Token 9 is only a target: its row learns through the head.
  EXPECT_GT(gradient[9].abs().max().item<float>(), 0);
}

TEST(TransformerHostTest, RefusesSequencesBeyondItsBlock) {
  const std::unique_ptr<Host> host = BuildHost(SmallTransformer(), {});
  const std::vector<int32_t> seven(7, 1), six(6, 1);
  EXPECT_OK(host->CheckBatch({.size = 1, .tokens_BT = six, .targets = six}));
  EXPECT_THAT(host->CheckBatch({.size = 1, .tokens_BT = seven, .targets = seven}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("7 tokens exceeds the host's block size 6")));
  const std::vector<int32_t> unknown = {11};
  EXPECT_THAT(host->CheckBatch({.size = 1, .tokens_BT = unknown, .targets = {1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token 0")));
}

TEST(TransformerHostTest, DropsOnlyInTraining) {
  const std::unique_ptr<Host> host = BuildHost(SmallTransformer(), {});
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6};
  const HostBatch batch = {.size = 1, .tokens_BT = tokens, .targets = tokens};
  const auto loss = [&](const HostPass& pass) { return Data(host->Loss(batch, pass, Unchanged).mean.detach())[0]; };
  EXPECT_EQ(loss({}), loss({.training = false, .dropout_seed = 5}));
  EXPECT_NE(loss({}), loss({.training = true, .dropout_seed = 5}));
  EXPECT_NE(loss({.training = true, .dropout_seed = 6}), loss({.training = true, .dropout_seed = 5}));
  EXPECT_EQ(loss({.training = true, .dropout_seed = 5}), loss({.training = true, .dropout_seed = 5}));
}

TEST(HostTest, WeightsAreAFunctionOfTheEpisode) {
  const HostShape shape = FindHostTask("cifar10")->shape;
  const auto first = [&](const EpisodeCoordinates& episode) {
    return Data(BuildHost(shape, episode)->parameters()[0].tensor)[0];
  };
  EXPECT_EQ(first({1, 2, 3, 4}), first({1, 2, 3, 4}));
  EXPECT_NE(first({1, 2, 3, 4}), first({1, 2, 3, 5}));
  EXPECT_NE(first({1, 2, 3, 4}), first({1, 2, 4, 4}));
  EXPECT_NE(first({1, 2, 3, 4}), first({1, 3, 3, 4}));
  EXPECT_NE(first({1, 2, 3, 4}), first({2, 2, 3, 4}));
}

class BlueprintModuleTest : public ::testing::TestWithParam<Topology> {
 protected:
  BlueprintModuleTest() { at::set_num_threads(1); }

  at::Tensor Input(int64_t channels) const {
    return GetParam() == Topology::kCnn ? Random({2, 4, 4, channels}, 1) : Random({2, 5, channels}, 1);
  }
};

INSTANTIATE_TEST_SUITE_P(Both, BlueprintModuleTest, ::testing::Values(Topology::kCnn, Topology::kTransformer));

TEST_P(BlueprintModuleTest, HaveTheirExactNumberOfParametersAndKeepTheShape) {
  for (const Blueprint& blueprint : Blueprints(GetParam())) {
    for (const int64_t channels : {1, 3, 16, 20, 48, 64}) {
      const absl::StatusOr<int64_t> params = BlueprintParameters(GetParam(), blueprint, channels);
      const auto module = BuildSeed(GetParam(), blueprint, channels, {}, 0);
      ASSERT_EQ(module.ok(), params.ok()) << blueprint.name << channels;
      EXPECT_EQ(params.ok(), blueprint.kind != BlueprintKind::kCausalAttention || channels % 4 == 0);
      if (!params.ok()) continue;
      EXPECT_EQ(ElementsOf((*module)->parameters()), *params) << blueprint.name << channels;
      EXPECT_EQ((*module)->Forward(Input(channels)).sizes(), Input(channels).sizes());
    }
  }
}

TEST_P(BlueprintModuleTest, EveryParameterLearns) {
  for (const Blueprint& blueprint : Blueprints(GetParam())) {
    ASSERT_OK_AND_ASSIGN(const auto module, BuildSeed(GetParam(), blueprint, 16, {}, 0));
    Tensors parameters;
    for (const NamedTensor& p : module->parameters()) {
      parameters.push_back(p.tensor);
      float* const values = MutableData(p.tensor);  // those that start at 0 would stop the gradients of others
      for (int64_t i = 0; i < p.tensor.numel(); ++i) values[i] += 0.01f * static_cast<float>(i % 5 + 1);
    }
    const at::Tensor y = module->Forward(Input(16));
    const Tensors gradients = torch::autograd::grad({y}, parameters, {Random(y.sizes().vec(), 2)});
    for (size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_GT(gradients[i].abs().max().item<float>(), 0) << blueprint.name << " " << module->parameters()[i].name;
    }
  }
}

// C11.11: the original's `attention` for transformers sees later tokens.
TEST(TransformerSeedTest, NoSeedSeesLaterTokens) {
  for (const Blueprint& blueprint : Blueprints(Topology::kTransformer)) {
    ASSERT_OK_AND_ASSIGN(const auto module, BuildSeed(Topology::kTransformer, blueprint, 16, {}, 0));
    for (const NamedTensor& p : module->parameters()) {
      const at::Tensor noise = Random(p.tensor.sizes().vec(), 9);
      std::copy_n(Data(noise), noise.numel(), MutableData(p.tensor));
    }
    const at::Tensor x = Random({1, 7, 16}, 3), other = Random({1, 7, 16}, 3);
    for (int64_t i = 5 * 16; i < 7 * 16; ++i) MutableData(other)[i] += 1;
    const at::Tensor y = module->Forward(x), changed = module->Forward(other);
    EXPECT_TRUE(y.narrow(1, 0, 5).equal(changed.narrow(1, 0, 5))) << blueprint.name;
    EXPECT_FALSE(y.equal(changed)) << blueprint.name;
  }
}

TEST(TransformerSeedTest, AllButNormStartAsTheIdentity) {
  for (const Blueprint& blueprint : Blueprints(Topology::kTransformer)) {
    ASSERT_OK_AND_ASSIGN(const auto module, BuildSeed(Topology::kTransformer, blueprint, 16, {}, 0));
    const at::Tensor x = Random({1, 3, 16}, 4);
    EXPECT_EQ(module->Forward(x).equal(x), blueprint.kind != BlueprintKind::kNorm) << blueprint.name;
  }
}

TEST(SeedModuleTest, EachSeedOfAnEpisodeHasItsOwnWeights) {
  const Blueprint blueprint = *FindBlueprint(Topology::kCnn, "conv_light");
  const auto first = [&](int number) {
    return Data((*BuildSeed(Topology::kCnn, blueprint, 16, {7}, number))->parameters()[0].tensor)[0];
  };
  EXPECT_NE(first(0), first(1));
  EXPECT_EQ(first(1), first(1));
}

}  // namespace
}  // namespace reprise::models
