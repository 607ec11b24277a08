// The one training loop against six loops, one for each group of stages that the original had a loop for.

#include "models/morphogenesis/networks/train_epoch.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

constexpr int64_t kBatch = 4, kBatches = 3;

HostShape SmallCnn() {
  HostShape shape;
  shape.cnn = {.num_classes = 4, .num_blocks = 3, .base_channels = 4, .image_size = 16, .image_channels = 3};
  return shape;
}

// Random images, in batches.
class Images {
 public:
  explicit Images(const CnnShape& shape) {
    const int64_t of_image = shape.image_size * shape.image_size * shape.image_channels;
    pixels_.resize(static_cast<size_t>(kBatches * kBatch * of_image));
    for (size_t i = 0; i < pixels_.size(); ++i) {
      pixels_[i] = static_cast<float>(2 * DrawUniform(6, Purpose::kTest, {.token = i}) - 1);
    }
    for (int32_t i = 0; i < kBatches * kBatch; ++i) targets_.push_back(i % 4);
    const size_t batch = static_cast<size_t>(kBatch), per = batch * static_cast<size_t>(of_image);
    for (size_t b = 0; b < kBatches; ++b) {
      batches_.push_back({.size = kBatch,
                          .images_BHWC = absl::MakeConstSpan(pixels_).subspan(b * per, per),
                          .targets = absl::MakeConstSpan(targets_).subspan(b * batch, batch)});
    }
  }

  const std::vector<HostBatch>& batches() const { return batches_; }

 private:
  std::vector<float> pixels_;
  std::vector<int32_t> targets_;
  std::vector<HostBatch> batches_;
};

// A host and a slot with a seed in some stage.
struct World {
  explicit World(Stage stage) : host(BuildHost(SmallCnn(), {9})) {
    SlotOptions options;
    options.SetDurations(*FindHostTask("cifar10"));
    slot = std::make_unique<Slot>(Topology::kCnn, InjectionPoints(SmallCnn())[0], options);
    host_sgd = std::make_unique<Sgd>(host->parameters(), SgdOptions{.weight_decay = 5e-4});
    if (stage == Stage::kDormant) return;
    EXPECT_OK(slot->Germinate(*FindBlueprint(Topology::kCnn, "conv_light"), "", 10.0, {9}));
    if (stage == Stage::kGerminated) return;
    seed_sgd = std::make_unique<Sgd>(slot->seed_parameters(), SgdOptions());
    for (int i = 0; i < 40 && slot->stage() != stage && slot->seed() != nullptr; ++i) {
      slot->seed()->metrics.RecordAccuracy(10.0 + i);
      slot->RecordGradients({}, 1);
      slot->seed()->metrics.counterfactual_contribution = 1;
      if (slot->stage() == Stage::kProbationary) {
        EXPECT_TRUE(slot->AdvanceStage(Stage::kFossilized).passed);
      } else {
        slot->StepEpoch();
      }
    }
    if (stage == Stage::kBlending) slot->StepEpoch();  // to an alpha that is not 0
    if (slot->seed() == nullptr) seed_sgd.reset();
  }

  GrowingNetwork network() const { return {host.get(), slot.get(), 0}; }

  // All numbers that training changes.
  std::vector<float> Numbers() const {
    NamedTensors all = host->parameters();
    for (const NamedTensors& more : {host->buffers(), host_sgd->momentum(), slot->seed_parameters(),
                                     seed_sgd == nullptr ? NamedTensors() : seed_sgd->momentum()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    std::vector<float> numbers;
    for (const NamedTensor& t : all) {
      const at::Tensor values = t.tensor.detach();
      numbers.insert(numbers.end(), Data(values), Data(values) + values.numel());
    }
    return numbers;
  }

  std::unique_ptr<Host> host;
  std::unique_ptr<Slot> slot;
  std::unique_ptr<Sgd> host_sgd, seed_sgd;
};

struct LoopResult {
  double loss_sum = 0, correct = 0;
  int64_t total = 0;
  std::optional<GradientStatistics> gradients;
};

Tensors Leaves(const NamedTensors& parameters) {
  Tensors leaves;
  for (const NamedTensor& p : parameters) leaves.push_back(p.tensor);
  return leaves;
}

Tensors GradientsBy(const at::Tensor& loss, const NamedTensors& parameters, bool keep) {
  return torch::autograd::grad({loss}, Leaves(parameters), {}, keep, false, /*allow_unused=*/true);
}

GradientStatistics StatisticsOf(const Tensors& gradients) {
  GradientSpans spans;
  for (const at::Tensor& g : gradients) {
    if (g.defined()) spans.emplace_back(Data(g), static_cast<size_t>(g.numel()));
  }
  return CollectGradientStatistics(spans);
}

void Count(const BatchLoss& loss, LoopResult* result) {
  result->loss_sum += static_cast<double>(Data(loss.mean.detach())[0]);
  result->correct += static_cast<double>(loss.correct);
  result->total += loss.total;
}

BatchLoss LossOf(World* world, const HostBatch& batch, size_t number) {
  return world->network().Loss(batch, {.training = true, .dropout_seed = DropoutSeedOf({}, number)});
}

// 1. Without a seed.
LoopResult LoopWithoutSeed(World* world, const std::vector<HostBatch>& batches) {
  LoopResult result;
  for (size_t b = 0; b < batches.size(); ++b) {
    const BatchLoss loss = LossOf(world, batches[b], b);
    world->host_sgd->Step(GradientsBy(loss.mean, world->host->parameters(), false));
    Count(loss, &result);
  }
  return result;
}

// 2. GERMINATED: an optimizer is made and the seed enters TRAINING.
LoopResult LoopOfGerminated(World* world, const std::vector<HostBatch>& batches) {
  LoopResult result;
  EXPECT_TRUE(world->slot->AdvanceStage(Stage::kTraining).passed);
  world->seed_sgd = std::make_unique<Sgd>(world->slot->seed_parameters(), SgdOptions());
  for (size_t b = 0; b < batches.size(); ++b) {
    const BatchLoss loss = LossOf(world, batches[b], b);
    const Tensors host = GradientsBy(loss.mean, world->host->parameters(), true);
    const Tensors seed = GradientsBy(loss.mean, world->slot->seed_parameters(), false);
    result.gradients = StatisticsOf(seed);  // the last batch wins
    world->host_sgd->Step(host);
    world->seed_sgd->Step(seed);
    Count(loss, &result);
  }
  return result;
}

// 3. TRAINING.
LoopResult LoopOfTraining(World* world, const std::vector<HostBatch>& batches) {
  LoopResult result;
  for (size_t b = 0; b < batches.size(); ++b) {
    const BatchLoss loss = LossOf(world, batches[b], b);
    const Tensors seed = GradientsBy(loss.mean, world->slot->seed_parameters(), true);
    const Tensors host = GradientsBy(loss.mean, world->host->parameters(), false);
    result.gradients = StatisticsOf(seed);
    world->host_sgd->Step(host);
    world->seed_sgd->Step(seed);
    Count(loss, &result);
  }
  return result;
}

// 4. BLENDING: the optimizer may not exist (C11.14: then the original's seed never learned; here one is always made).
LoopResult LoopOfBlending(World* world, const std::vector<HostBatch>& batches) {
  LoopResult result;
  for (size_t b = 0; b < batches.size(); ++b) {
    const BatchLoss loss = LossOf(world, batches[b], b);
    const Tensors seed = GradientsBy(loss.mean, world->slot->seed_parameters(), true);
    const Tensors host = GradientsBy(loss.mean, world->host->parameters(), false);
    result.gradients = StatisticsOf(seed);
    world->host_sgd->Step(host);
    if (world->seed_sgd != nullptr) world->seed_sgd->Step(seed);
    Count(loss, &result);
  }
  return result;
}

// 5. SHADOWING and PROBATIONARY.
LoopResult LoopOfWaiting(World* world, const std::vector<HostBatch>& batches) {
  LoopResult result;
  for (size_t b = 0; b < batches.size(); ++b) {
    const BatchLoss loss = LossOf(world, batches[b], b);
    Tensors leaves = Leaves(world->host->parameters());
    const auto host = static_cast<std::ptrdiff_t>(leaves.size());
    for (const NamedTensor& p : world->slot->seed_parameters()) leaves.push_back(p.tensor);
    const Tensors all = torch::autograd::grad({loss.mean}, leaves, {}, false, false, true);
    const Tensors of_seed(all.begin() + host, all.end());
    result.gradients = StatisticsOf(of_seed);
    world->host_sgd->Step({all.begin(), all.begin() + host});
    world->seed_sgd->Step(of_seed);
    Count(loss, &result);
  }
  return result;
}

// 6. FOSSILIZED: the seed is part of the host and does not learn.
LoopResult LoopOfFossilized(World* world, const std::vector<HostBatch>& batches) {
  EXPECT_EQ(world->slot->fossils().size(), 1u);
  return LoopWithoutSeed(world, batches);
}

LoopResult ReferenceLoop(Stage stage, World* world, const std::vector<HostBatch>& batches) {
  switch (stage) {
    case Stage::kGerminated:
      return LoopOfGerminated(world, batches);
    case Stage::kTraining:
      return LoopOfTraining(world, batches);
    case Stage::kBlending:
      return LoopOfBlending(world, batches);
    case Stage::kShadowing:
    case Stage::kProbationary:
      return LoopOfWaiting(world, batches);
    case Stage::kFossilized:
      return LoopOfFossilized(world, batches);
    default:
      return LoopWithoutSeed(world, batches);
  }
}

// The loop under test, as a session calls it.
EpochTraining UnifiedLoop(World* world, const std::vector<HostBatch>& batches) {
  if (world->slot->stage() == Stage::kGerminated) {
    EXPECT_TRUE(world->slot->AdvanceStage(Stage::kTraining).passed);
  }
  const bool learns = world->slot->IsLearning();
  if (learns && world->seed_sgd == nullptr) {
    world->seed_sgd = std::make_unique<Sgd>(world->slot->seed_parameters(), SgdOptions());
  }
  EpochOptions options;
  options.host_sgd = world->host_sgd.get();
  options.seed_sgd = learns ? world->seed_sgd.get() : nullptr;
  options.collect_gradients = learns;
  return *TrainEpoch(world->network(), batches, options);
}

class TrainEpochTest : public ::testing::TestWithParam<Stage> {
 protected:
  TrainEpochTest() { at::set_num_threads(1); }
};

INSTANTIATE_TEST_SUITE_P(Stages, TrainEpochTest,
                         ::testing::Values(Stage::kDormant, Stage::kGerminated, Stage::kTraining, Stage::kBlending,
                                           Stage::kShadowing, Stage::kProbationary, Stage::kFossilized),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

TEST_P(TrainEpochTest, HasTheBitsOfTheLoopOfItsStage) {
  const Images images(SmallCnn().cnn);
  World ours(GetParam()), reference(GetParam());
  const EpochTraining result = UnifiedLoop(&ours, images.batches());
  const LoopResult expected = ReferenceLoop(GetParam(), &reference, images.batches());
  EXPECT_EQ(result.loss_sum, expected.loss_sum);
  EXPECT_EQ(result.correct, expected.correct);
  EXPECT_EQ(result.total, expected.total);
  EXPECT_EQ(result.total, kBatch * kBatches);
  ASSERT_EQ(result.gradients.has_value(), expected.gradients.has_value());
  if (expected.gradients.has_value()) {
    EXPECT_EQ(result.gradients->gradient_norm, expected.gradients->gradient_norm);
    EXPECT_EQ(result.gradients->gradient_health, expected.gradients->gradient_health);
    EXPECT_GT(result.gradients->gradient_norm, 0);
    EXPECT_GT(result.seed_gradient_ratio, 0);
  }
  const std::vector<float> a = ours.Numbers(), b = reference.Numbers();
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// Straight-through identity in a whole network: the host's weights after an epoch are those of a host without a seed.
TEST(TrainEpochIdentityTest, AHostWithASeedInTrainingLearnsTheBitsOfAHostAlone) {
  const Images images(SmallCnn().cnn);
  World alone(Stage::kDormant), grown(Stage::kTraining);
  const EpochTraining a = UnifiedLoop(&alone, images.batches()), b = UnifiedLoop(&grown, images.batches());
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  EXPECT_EQ(a.host_gradient_norm, b.host_gradient_norm);
  const std::vector<float> x = alone.Numbers(), y = grown.Numbers();
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)), 0);
  EXPECT_GT(b.gradients->true_norm, 0);
  EXPECT_EQ(grown.slot->seed()->metrics.isolation_violations, 0);
}

TEST(TrainEpochEdgeTest, WithoutBatchesAllIsZero) {
  World world(Stage::kTraining);
  const EpochTraining result = UnifiedLoop(&world, {});
  EXPECT_EQ(result.loss_sum, 0);
  EXPECT_EQ(result.correct, 0);
  EXPECT_EQ(result.total, 0);
  EXPECT_FALSE(result.gradients.has_value());
  EXPECT_EQ(result.MeanLoss(), 0);
  EXPECT_EQ(result.Accuracy(), 0);
}

TEST(TrainEpochEdgeTest, ABadBatchStopsTheEpochBeforeItsFirstStep) {
  World world(Stage::kDormant);
  const Images images(SmallCnn().cnn);
  std::vector<HostBatch> batches = images.batches();
  batches.back().size = 5;
  const std::vector<float> before = world.Numbers();
  EpochOptions options;
  options.host_sgd = world.host_sgd.get();
  EXPECT_EQ(TrainEpoch(world.network(), batches, options).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(world.Numbers(), before);
}

// The required example: conv_light on cifar10's host, batches of 4 of 8 random images.
TEST(TrainEpochEdgeTest, ConvLightOnCifar10HasStatistics) {
  const HostTask task = *FindHostTask("cifar10");
  const Images images(task.shape.cnn);
  const std::unique_ptr<Host> host = BuildHost(task.shape, {});
  SlotOptions options;
  options.SetDurations(task);
  Slot slot(Topology::kCnn, InjectionPoints(task.shape)[0], options);
  ASSERT_OK(slot.Germinate(*FindBlueprint(Topology::kCnn, "conv_light"), "", std::nullopt, {}));
  ASSERT_TRUE(slot.AdvanceStage(Stage::kTraining).passed);
  Sgd host_sgd(host->parameters(), {}), seed_sgd(slot.seed_parameters(), {});
  EpochOptions epoch;
  epoch.host_sgd = &host_sgd;
  epoch.seed_sgd = &seed_sgd;
  const absl::Span<const HostBatch> two = absl::MakeConstSpan(images.batches()).subspan(0, 2);
  ASSERT_OK_AND_ASSIGN(const EpochTraining without, TrainEpoch({host.get(), &slot, 0}, two, epoch));
  EXPECT_FALSE(without.gradients.has_value());
  epoch.collect_gradients = true;
  ASSERT_OK_AND_ASSIGN(const EpochTraining with, TrainEpoch({host.get(), &slot, 0}, two, epoch));
  ASSERT_TRUE(with.gradients.has_value());
  EXPECT_GT(with.gradients->gradient_norm, 0);
  EXPECT_EQ(with.gradients->gradient_health, 1);
  EXPECT_EQ(with.total, 8);
}

TEST(SgdTest, IsThatOfTorch) {
  at::Tensor p = NewFloats({1}), g = NewFloats({1});
  MutableData(p)[0] = 2;
  MutableData(g)[0] = 1;
  Sgd sgd({{"p", p}}, {.learning_rate = 0.5, .momentum = 0.5, .weight_decay = 0.25});
  sgd.Step({g});  // v = 1 + 0.25 * 2 = 1.5
  EXPECT_EQ(Data(p)[0], 1.25f);
  sgd.Step({g});  // v = 0.75 + 1 + 0.3125
  EXPECT_EQ(Data(p)[0], 1.25f - 0.5f * 2.0625f);
  sgd.Step({at::Tensor()});
  EXPECT_EQ(Data(p)[0], 1.25f - 0.5f * 2.0625f);
}

}  // namespace
}  // namespace reprise::models
