// The slot: its forward pass, its life and its events. Defects of the original that a test here would notice have their
// number (C11) beside it.

#include "models/morphogenesis/networks/slot.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/core/grad_mode.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kChannels = 4;

at::Tensor Random(uint64_t salt) {
  at::Tensor x = NewFloats({2, 3, 3, kChannels});
  float* const to = MutableData(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const DrawAt at = {.step = salt, .token = static_cast<uint64_t>(i)};
    to[i] = static_cast<float>(2 * DrawUniform(5, Purpose::kTest, at) - 1);
  }
  return x;
}

SlotOptions Cifar10Options() {
  SlotOptions options;
  options.SetDurations(*FindHostTask("cifar10"));
  return options;
}

class SlotTest : public ::testing::Test {
 protected:
  SlotTest() { at::set_num_threads(1); }

  static std::unique_ptr<Slot> NewSlot(const SlotOptions& options = Cifar10Options()) {
    return std::make_unique<Slot>(Topology::kCnn, InjectionPoint{"block2_post", kChannels}, options);
  }

  absl::StatusOr<GateResult> Germinate(const std::string& blueprint = "conv_light", const std::string& id = "") {
    return slot_->Germinate(*FindBlueprint(Topology::kCnn, blueprint), id, 50.0, {});
  }

  // An epoch in which all that gates ask for is met.
  void GoodEpoch() {
    if (slot_->stage() == Stage::kGerminated) {
      EXPECT_TRUE(slot_->AdvanceStage(Stage::kTraining).passed);
    }
    slot_->SetEpoch(++epoch_);
    if (SeedState* const seed = slot_->seed()) {
      seed->metrics.RecordAccuracy(50.0 + static_cast<double>(epoch_));
      slot_->RecordGradients({}, 1.0);
      seed->metrics.counterfactual_contribution = 2;
    }
    slot_->StepEpoch();
  }

  void GoTo(Stage stage) {
    if (slot_->seed() == nullptr) {
      EXPECT_OK(Germinate());
    }
    for (int i = 0; i < 30 && slot_->stage() != stage; ++i) GoodEpoch();
    ASSERT_EQ(slot_->stage(), stage);
  }

  // Gradients of sum of w y by h, and by the seed's parameters.
  Tensors Gradients(const at::Tensor& h) {
    Tensors inputs = {h};
    for (const NamedTensor& p : slot_->seed_parameters()) inputs.push_back(p.tensor);
    return torch::autograd::grad({slot_->Forward(h)}, inputs, {Random(2)}, {}, false, /*allow_unused=*/true);
  }

  std::unique_ptr<Slot> slot_ = NewSlot();
  int64_t epoch_ = 0;
};

TEST_F(SlotTest, FollowsTheGoldenTimeline) {
  for (int i = 0; i < 5; ++i) GoodEpoch();
  ASSERT_OK(Germinate());
  EXPECT_EQ(slot_->stage(), Stage::kGerminated);
  struct Row {
    int64_t epoch;
    Stage after;
    double alpha;
  };
  const Row rows[] = {{6, Stage::kTraining, 0},        {7, Stage::kTraining, 0},        {8, Stage::kBlending, 0},
                      {9, Stage::kBlending, .182426},  {10, Stage::kBlending, .377541}, {11, Stage::kBlending, .622459},
                      {12, Stage::kBlending, .817574}, {13, Stage::kShadowing, 1},      {14, Stage::kShadowing, 1},
                      {15, Stage::kProbationary, 1},   {16, Stage::kProbationary, 1}};
  for (const Row& row : rows) {
    GoodEpoch();
    EXPECT_EQ(epoch_, row.epoch);
    EXPECT_EQ(slot_->stage(), row.after) << row.epoch << NameOf(slot_->stage());
    EXPECT_NEAR(slot_->alpha(), row.alpha, 5e-7) << row.epoch;
  }
  EXPECT_TRUE(slot_->AdvanceStage(Stage::kFossilized).passed);
}

TEST_F(SlotTest, InTrainingTheHostLearnsAsIfItWereAloneAndTheSeedLearns) {
  GoTo(Stage::kTraining);
  const at::Tensor h = Random(1).set_requires_grad(true);
  EXPECT_TRUE(slot_->Forward(h).equal(h));
  const Tensors gradients = Gradients(h);
  EXPECT_TRUE(gradients[0].equal(Random(2)));
  for (size_t i = 1; i < gradients.size(); ++i) EXPECT_GT(gradients[i].abs().max().item<float>(), 0) << i;
}

// C11.4: in the original's first epoch of BLENDING, at alpha 0, neither the layers before the slot nor the seed learn.
TEST_F(SlotTest, InTheFirstEpochOfBlendingHostAndSeedStillLearn) {
  GoTo(Stage::kBlending);
  ASSERT_EQ(slot_->alpha(), 0);
  const at::Tensor h = Random(1).set_requires_grad(true);
  EXPECT_TRUE(slot_->Forward(h).equal(h));
  const Tensors gradients = Gradients(h);
  EXPECT_TRUE(gradients[0].equal(Random(2)));
  for (size_t i = 1; i < gradients.size(); ++i) EXPECT_GT(gradients[i].abs().max().item<float>(), 0) << i;
}

// C11.4: whether the host is detached while it is blended is an option.
TEST_F(SlotTest, ABlendedHostIsDetachedOnlyOnRequest) {
  SlotOptions options = Cifar10Options();
  options.blend_gradient = BlendGradient::kDetached;
  std::vector<at::Tensor> by_host;
  for (const SlotOptions& of_slot : {Cifar10Options(), options}) {
    slot_ = NewSlot(of_slot);
    GoTo(Stage::kBlending);
    GoodEpoch();
    const at::Tensor h = Random(1).set_requires_grad(true);
    by_host.push_back(Gradients(h)[0]);
  }
  const float alpha = static_cast<float>(slot_->alpha());
  // The difference is what passes by (1 - alpha) h.
  const at::Tensor difference = by_host[0].sub(by_host[1]).sub(Random(2).mul(1 - alpha));
  EXPECT_LT(difference.abs().max().item<float>(), 1e-5f);
  EXPECT_GT(by_host[1].abs().max().item<float>(), 0);
}

TEST_F(SlotTest, AtAlphaOneTheOutputIsTheSeeds) {
  GoTo(Stage::kShadowing);
  const at::Tensor h = Random(1);
  EXPECT_TRUE(slot_->Forward(h).equal(slot_->Contents().module->Forward(h)));
}

TEST_F(SlotTest, AGerminatedSeedChangesNothing) {
  ASSERT_OK(Germinate());
  const at::Tensor h = Random(1);
  EXPECT_TRUE(slot_->Forward(h).equal(h));
}

TEST_F(SlotTest, HasOneLiveSeed) {
  ASSERT_OK(Germinate("norm"));
  EXPECT_EQ(slot_->seed()->seed_id, "block2_post-norm");
  EXPECT_EQ(slot_->active_seed_params(), 2 * kChannels + 1);
  EXPECT_THAT(Germinate(),
              StatusIs(absl::StatusCode::kFailedPrecondition, std::string("Slot block2_post already has active seed")));
  EXPECT_EQ(slot_->seed()->blueprint_id, "norm");
}

TEST_F(SlotTest, AnEmptySlotAdvancesNowhere) {
  EXPECT_THAT(slot_->AdvanceStage(Stage::kTraining).checks_failed, ElementsAre("no_active_seed"));
  EXPECT_EQ(*slot_->Cull("why not"), false);
  slot_->SetAlpha(0.5);
  EXPECT_EQ(slot_->alpha(), 0);
  EXPECT_EQ(slot_->active_seed_params(), 0);
  EXPECT_THAT(slot_->TakeEvents(), IsEmpty());
}

TEST_F(SlotTest, RefusesTransitionsThatAreNotValidAndCullsOnlyByCull) {
  GoTo(Stage::kShadowing);
  EXPECT_THAT(slot_->AdvanceStage(Stage::kFossilized).checks_failed, ElementsAre("transition_failed"));
  EXPECT_THAT(slot_->AdvanceStage(Stage::kCulled).checks_failed, ElementsAre("transition_failed"));
  EXPECT_EQ(slot_->stage(), Stage::kShadowing);
  EXPECT_TRUE(slot_->AdvanceStage(std::nullopt).passed);
  EXPECT_EQ(slot_->stage(), Stage::kProbationary);
}

// C11.5: in the original only step_epoch starts the schedule of alpha; after an explicit advance it jumps to 1.
TEST_F(SlotTest, AnExplicitAdvanceStartsTheScheduleOfAlpha) {
  GoTo(Stage::kTraining);
  slot_->seed()->metrics.epochs_in_current_stage = 3;
  slot_->seed()->metrics.current_val_accuracy = 90;
  ASSERT_TRUE(slot_->AdvanceStage(Stage::kBlending).passed);
  EXPECT_EQ(slot_->seed()->blending_steps_total, 5);
  EXPECT_EQ(slot_->seed()->metrics.accuracy_at_blending_start, 90);
  GoodEpoch();
  EXPECT_NEAR(slot_->alpha(), .182426, 5e-7);
}

// C11.14: the two places that start TRAINING are one transition.
TEST_F(SlotTest, AGerminatedSeedStartsTrainingOnceWhereverItIsAsked) {
  ASSERT_OK(Germinate());
  slot_->StepEpoch();
  EXPECT_EQ(slot_->stage(), Stage::kTraining);
  EXPECT_THAT(slot_->AdvanceStage(Stage::kTraining).checks_failed, ElementsAre("not_germinated"));
}

// C11.2: in the original the slot stays occupied after FOSSILIZED, and the parameters count twice.
TEST_F(SlotTest, AFossilMovesIntoTheHostAndTheSlotIsFree) {
  GoTo(Stage::kProbationary);
  const int64_t params = slot_->active_seed_params();
  const at::Tensor h = Random(1).set_requires_grad(true);
  const at::Tensor before = slot_->Forward(h).detach();
  slot_->TakeEvents();
  ASSERT_TRUE(slot_->AdvanceStage(std::nullopt).passed);
  EXPECT_EQ(slot_->seed(), nullptr);
  EXPECT_EQ(slot_->stage(), Stage::kDormant);
  EXPECT_EQ(slot_->active_seed_params(), 0);
  EXPECT_EQ(slot_->fossil_params(), params);
  EXPECT_EQ(*slot_->Cull("too late"), false);
  EXPECT_TRUE(slot_->Forward(h).equal(before));
  ASSERT_OK(Germinate("norm"));
  EXPECT_EQ(slot_->fossil_params(), params);
  EXPECT_EQ(slot_->active_seed_params(), 2 * kChannels + 1);
}

// C11.3: in the original the gradients of fossils accumulate for ever.
TEST_F(SlotTest, AFossilIsFrozenAndPassesGradientsOn) {
  GoTo(Stage::kProbationary);
  ASSERT_TRUE(slot_->AdvanceStage(std::nullopt).passed);
  for (const NamedTensor& p : slot_->fossils()[0].module->parameters()) {
    EXPECT_FALSE(p.tensor.requires_grad());
    EXPECT_FALSE(p.tensor.grad().defined());
  }
  const at::Tensor h = Random(1).set_requires_grad(true);
  EXPECT_GT(Gradients(h)[0].abs().max().item<float>(), 0);
}

TEST_F(SlotTest, EventsTellTheLifeOfASeedWithTheValuesBeforeCountersAreReset) {
  GoTo(Stage::kProbationary);
  GoodEpoch();
  ASSERT_TRUE(slot_->AdvanceStage(Stage::kFossilized).passed);
  const std::vector<SlotEvent> events = slot_->TakeEvents();
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0].kind, SlotEventKind::kGerminated);
  EXPECT_EQ(events[0].params, 9 * 16 + 8);
  EXPECT_EQ(events[0].blueprint_id, "conv_light");
  EXPECT_EQ(events[1].kind, SlotEventKind::kStageChanged);
  EXPECT_EQ(events[1].from, Stage::kGerminated);
  EXPECT_EQ(events[1].to, Stage::kTraining);
  EXPECT_EQ(events[2].to, Stage::kBlending);
  EXPECT_EQ(events[2].epochs_in_stage, 3);
  EXPECT_EQ(events[5].to, Stage::kFossilized);
  const SlotEvent& fossilised = events[6];
  EXPECT_EQ(fossilised.kind, SlotEventKind::kFossilized);
  EXPECT_EQ(fossilised.seed_id, "block2_post-conv_light");
  EXPECT_EQ(fossilised.params, 9 * 16 + 8);
  EXPECT_EQ(fossilised.epochs_total, 11);
  EXPECT_EQ(fossilised.epochs_in_stage, 1);
  EXPECT_EQ(fossilised.improvement, 11);
  EXPECT_EQ(fossilised.blending_delta, 8);
  EXPECT_EQ(fossilised.counterfactual, 2);
  EXPECT_EQ(fossilised.epoch, 11);
}

// C11.15: the original never enters EMBARGOED and RESETTING.
TEST_F(SlotTest, ACulledSlotIsUnderEmbargoAndThenFree) {
  GoTo(Stage::kTraining);
  slot_->TakeEvents();
  EXPECT_EQ(*slot_->Cull("useless"), true);
  EXPECT_EQ(slot_->seed(), nullptr);
  EXPECT_EQ(slot_->stage(), Stage::kCulled);
  for (int left = 5; left > 0; --left) {
    EXPECT_EQ(slot_->embargo_remaining(), left);
    EXPECT_THAT(Germinate(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("under embargo for " + std::to_string(left) + " more epochs")));
    GoodEpoch();
  }
  EXPECT_EQ(slot_->stage(), Stage::kDormant);
  EXPECT_OK(Germinate());
  const std::vector<SlotEvent> events = slot_->TakeEvents();
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0].to, Stage::kCulled);
  EXPECT_EQ(events[1].kind, SlotEventKind::kCulled);
  EXPECT_EQ(events[1].reason, "useless");
  EXPECT_EQ(events[1].params, 9 * 16 + 8);
  EXPECT_EQ(events[2].to, Stage::kEmbargoed);
  EXPECT_EQ(events[3].to, Stage::kResetting);
  EXPECT_EQ(events[4].to, Stage::kDormant);
}

TEST_F(SlotTest, WithoutEmbargoACulledSlotIsFreeAtOnce) {
  SlotOptions options = Cifar10Options();
  options.embargo_epochs = 0;
  slot_ = NewSlot(options);
  ASSERT_OK(Germinate());
  EXPECT_EQ(*slot_->Cull("x"), true);
  EXPECT_EQ(slot_->stage(), Stage::kDormant);
  EXPECT_OK(Germinate());
}

// C11.18: in the original a nested override restores the wrong alpha, and germinating meanwhile is possible.
TEST_F(SlotTest, ForcedAlphaNestsAndForbidsStructuralChanges) {
  GoTo(Stage::kShadowing);
  const at::Tensor h = Random(1);
  {
    const ForcedAlpha outer(slot_.get(), 0.25);
    EXPECT_EQ(slot_->alpha(), 0.25);
    {
      const ForcedAlpha inner(slot_.get(), 0);
      const at::NoGradGuard no_gradients;
      EXPECT_TRUE(slot_->Forward(h).equal(h));
    }
    EXPECT_EQ(slot_->alpha(), 0.25);
    EXPECT_THAT(slot_->Cull("x"), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("forced alpha")));
    EXPECT_THAT(Germinate(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("forced alpha")));
    EXPECT_THAT(slot_->AdvanceStage(Stage::kProbationary).checks_failed, ElementsAre("alpha_is_forced"));
  }
  EXPECT_EQ(slot_->alpha(), 1);
  EXPECT_EQ(*slot_->Cull("now"), true);
  const ForcedAlpha without_a_seed(slot_.get(), 0.5);
  EXPECT_EQ(slot_->alpha(), 0);
}

TEST_F(SlotTest, AlphaIsClamped) {
  GoTo(Stage::kBlending);
  slot_->SetAlpha(1.5);
  EXPECT_EQ(slot_->alpha(), 1);
  slot_->SetAlpha(-1);
  EXPECT_EQ(slot_->alpha(), 0);
}

// C11.19: violations are gradients that pass through the seed, and only those.
TEST_F(SlotTest, IsolationIsViolatedOnlyIfGradientPassesThroughTheSeed) {
  GoTo(Stage::kTraining);
  Gradients(Random(1).set_requires_grad(true));
  slot_->RecordIsolation();
  EXPECT_EQ(slot_->seed()->metrics.isolation_violations, 0);
  SlotOptions options = Cifar10Options();
  options.isolate_training = false;
  slot_ = NewSlot(options);
  GoTo(Stage::kTraining);
  Gradients(Random(1).set_requires_grad(true));
  slot_->RecordIsolation();
  EXPECT_EQ(slot_->seed()->metrics.isolation_violations, 1);
}

TEST_F(SlotTest, RefusesSeedsThatDoNotFit) {
  Slot slot(Topology::kTransformer, {"layer_0_post_block", 6}, {});
  const Blueprint attention = *FindBlueprint(Topology::kTransformer, "flex_attention");
  EXPECT_THAT(slot.Germinate(attention, "", std::nullopt, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 heads, which do not divide the width 6")));
  EXPECT_EQ(slot.seed(), nullptr);
}

}  // namespace
}  // namespace reprise::models
