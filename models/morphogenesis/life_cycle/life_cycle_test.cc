// Stages, states, gates, alpha, gradient statistics, blueprints and tasks. Defects of the original that a test here
// would notice have their number (C11) beside it.

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/morphogenesis/life_cycle/alpha_schedule.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/gates.h"
#include "models/morphogenesis/life_cycle/gradient_statistics.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "models/morphogenesis/life_cycle/seed_state.h"
#include "models/morphogenesis/life_cycle/stage.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Stage StageOf(int value) { return static_cast<Stage>(value); }

TEST(StageTest, TransitionsAreThoseOfTheTable) {
  // Rows: from; columns: to. U D G T B S P F C E R.
  const char* const table[kNumStages] = {
      ".o.........",  // UNKNOWN
      "..o........",  // DORMANT
      "...o....o..",  // GERMINATED
      "....o...o..",  // TRAINING
      ".....o..o..",  // BLENDING
      "......o.o..",  // SHADOWING
      ".......oo..",  // PROBATIONARY
      "...........",  // FOSSILIZED
      ".........o.",  // CULLED
      "..........o",  // EMBARGOED
      ".o.........",  // RESETTING
  };
  for (int from = 0; from < kNumStages; ++from) {
    for (int to = 0; to < kNumStages; ++to) {
      EXPECT_EQ(IsValidTransition(StageOf(from), StageOf(to)), table[from][to] == 'o')
          << NameOf(StageOf(from)) << " -> " << NameOf(StageOf(to));
      SeedState seed;
      seed.stage = StageOf(from);
      EXPECT_EQ(seed.Transition(StageOf(to), 1), table[from][to] == 'o');
      EXPECT_EQ(seed.stage, table[from][to] == 'o' ? StageOf(to) : StageOf(from));
    }
  }
}

TEST(StageTest, PredicatesAndNames) {
  std::string active, terminal, failure;
  std::set<absl::string_view> names;
  for (int i = 0; i < kNumStages; ++i) {
    active += IsActive(StageOf(i)) ? 'o' : '.';
    terminal += IsTerminal(StageOf(i)) ? 'o' : '.';
    failure += IsFailure(StageOf(i)) ? 'o' : '.';
    names.insert(NameOf(StageOf(i)));
  }
  EXPECT_EQ(active, "...ooooo...");
  EXPECT_EQ(terminal, ".......o...");
  EXPECT_EQ(failure, "........ooo");
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumStages));
  EXPECT_EQ(NameOf(Stage::kProbationary), "PROBATIONARY");
}

TEST(SeedStateTest, ATransitionRemembersTheStageBefore) {
  SeedState seed;
  seed.stage = Stage::kTraining;
  seed.metrics.RecordBaseline(50);
  seed.metrics.RecordAccuracy(52);
  seed.metrics.RecordAccuracy(51);
  ASSERT_TRUE(seed.Transition(Stage::kBlending, 7));
  EXPECT_EQ(seed.previous_stage, Stage::kTraining);
  EXPECT_EQ(seed.previous_epochs_in_stage, 2);
  EXPECT_EQ(seed.stage_entered_at, 7);
  EXPECT_EQ(seed.metrics.epochs_in_current_stage, 0);
  EXPECT_EQ(seed.metrics.epochs_total, 2);
  EXPECT_EQ(seed.metrics.accuracy_at_stage_start, 51);
  EXPECT_EQ(seed.metrics.best_val_accuracy, 52);
  EXPECT_EQ(seed.metrics.TotalImprovement(), 1);
  EXPECT_EQ(seed.metrics.ImprovementSinceStageStart(), 0);
  EXPECT_THAT(seed.stage_history, ElementsAre(StageEntry{Stage::kBlending, 7}));
}

TEST(SeedStateTest, HistoryKeepsTheLastHundred) {
  SeedState seed;
  for (int i = 0; i < 60; ++i) {
    seed.stage = Stage::kResetting;
    ASSERT_TRUE(seed.Transition(Stage::kDormant, 2 * i));
    ASSERT_TRUE(seed.Transition(Stage::kGerminated, 2 * i + 1));
  }
  ASSERT_EQ(seed.stage_history.size(), static_cast<size_t>(kMaxStageHistory));
  EXPECT_EQ(seed.stage_history.front().epoch, 20);
  EXPECT_EQ(seed.stage_history.back().epoch, 119);
}

// C11.6: the original takes the first accuracy after an epoch of training as the baseline, and so loses its gain.
TEST(SeedMetricsTest, TheGainOfTheFirstEpochCountsFromTheBaselineOfGermination) {
  SeedMetrics metrics;
  metrics.RecordBaseline(40);
  metrics.RecordAccuracy(43);
  EXPECT_EQ(metrics.TotalImprovement(), 3);
  EXPECT_EQ(metrics.ImprovementSinceStageStart(), 3);
  SeedMetrics without;
  without.RecordAccuracy(43);
  EXPECT_EQ(without.TotalImprovement(), 0);
}

// C11.7: the original's sentinel 0.0 means "never blended", also where blending began at an accuracy of 0.
TEST(SeedMetricsTest, BlendingThatBeganAtZeroAccuracyIsBlending) {
  SeedMetrics metrics;
  metrics.RecordAccuracy(5);
  EXPECT_EQ(metrics.BlendingDelta(), 0);
  metrics.accuracy_at_blending_start = 0;
  EXPECT_EQ(metrics.BlendingDelta(), 5);
}

SeedState ReadyToBlend() {
  SeedState seed;
  seed.seed_id = "s";
  seed.blueprint_id = "norm";
  seed.stage = Stage::kTraining;
  seed.metrics.current_val_accuracy = 50.5;
  seed.metrics.accuracy_at_stage_start = 50;
  seed.metrics.isolation_violations = 10;
  seed.metrics.epochs_in_current_stage = 3;
  seed.metrics.seed_gradient_norm_ratio = 0.05;
  return seed;
}

GateResult Blend(const SeedState& seed) { return CheckGate(seed, Stage::kBlending, {}); }

TEST(GateTest, G0NeedsNames) {
  SeedState seed;
  const GateResult none = CheckGate(seed, Stage::kGerminated, {});
  EXPECT_FALSE(none.passed);
  EXPECT_EQ(none.score, 0);
  EXPECT_THAT(none.checks_failed, ElementsAre("seed_id_missing", "blueprint_id_missing"));
  seed.seed_id = "a";
  EXPECT_THAT(CheckGate(seed, Stage::kGerminated, {}).checks_failed, ElementsAre("blueprint_id_missing"));
  seed.blueprint_id = "b";
  EXPECT_TRUE(CheckGate(seed, Stage::kGerminated, {}).passed);
  EXPECT_EQ(CheckGate(seed, Stage::kGerminated, {}).score, 1);
}

TEST(GateTest, G1AndG4NeedTheStageBefore) {
  for (int i = 0; i < kNumStages; ++i) {
    SeedState seed;
    seed.stage = StageOf(i);
    EXPECT_EQ(CheckGate(seed, Stage::kTraining, {}).passed, seed.stage == Stage::kGerminated);
    EXPECT_EQ(CheckGate(seed, Stage::kProbationary, {}).passed, seed.stage == Stage::kShadowing);
  }
  EXPECT_THAT(CheckGate(SeedState(), Stage::kTraining, {}).checks_failed, ElementsAre("not_germinated"));
}

TEST(GateTest, G2PassesAtItsThresholdsAndFailsJustBelowEach) {
  const GateResult passed = Blend(ReadyToBlend());
  EXPECT_TRUE(passed.passed) << passed.message;
  EXPECT_EQ(passed.gate, Gate::kG2);
  EXPECT_DOUBLE_EQ(passed.score, 0.1);
  SeedState seed = ReadyToBlend();
  seed.metrics.current_val_accuracy = std::nextafter(50.5, 0);
  EXPECT_FALSE(Blend(seed).passed);
  seed = ReadyToBlend();
  seed.metrics.isolation_violations = 11;
  EXPECT_FALSE(Blend(seed).passed);
  seed = ReadyToBlend();
  seed.metrics.epochs_in_current_stage = 2;
  EXPECT_FALSE(Blend(seed).passed);
  seed = ReadyToBlend();
  seed.metrics.seed_gradient_norm_ratio = std::nextafter(0.05, 0);
  EXPECT_FALSE(Blend(seed).passed);
  seed = ReadyToBlend();
  seed.metrics.current_val_accuracy = 60;
  EXPECT_EQ(Blend(seed).score, 1);
  seed.metrics.current_val_accuracy = 40;
  EXPECT_EQ(Blend(seed).score, 0);
  seed.metrics.current_val_accuracy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Blend(seed).passed);
}

TEST(GateTest, G3PassesAtItsThresholdsAndFailsJustBelowEach) {
  SeedState seed;
  seed.alpha = 0.95;
  seed.metrics.epochs_in_current_stage = 3;
  EXPECT_TRUE(CheckGate(seed, Stage::kShadowing, {}).passed);
  EXPECT_EQ(CheckGate(seed, Stage::kShadowing, {}).score, 0.95);
  seed.alpha = std::nextafter(0.95, 0);
  EXPECT_FALSE(CheckGate(seed, Stage::kShadowing, {}).passed);
  seed.alpha = 1;
  seed.metrics.epochs_in_current_stage = 2;
  EXPECT_FALSE(CheckGate(seed, Stage::kShadowing, {}).passed);
}

TEST(GateTest, G5NeedsAPositiveContributionOfAHealthySeed) {
  SeedState seed;
  EXPECT_THAT(CheckGate(seed, Stage::kFossilized, {}).checks_failed, ElementsAre("counterfactual_not_available"));
  seed.metrics.counterfactual_contribution = 0;
  EXPECT_FALSE(CheckGate(seed, Stage::kFossilized, {}).passed);
  seed.metrics.counterfactual_contribution = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(CheckGate(seed, Stage::kFossilized, {}).passed);
  seed.metrics.counterfactual_contribution = 2;
  EXPECT_EQ(CheckGate(seed, Stage::kFossilized, {}).score, 0.2);
  seed.metrics.counterfactual_contribution = 20;
  EXPECT_EQ(CheckGate(seed, Stage::kFossilized, {}).score, 1);
  seed.is_healthy = false;
  EXPECT_FALSE(CheckGate(seed, Stage::kFossilized, {}).passed);
}

TEST(GateTest, OtherStagesHaveG0) {
  for (const Stage stage : {Stage::kUnknown, Stage::kDormant, Stage::kCulled, Stage::kEmbargoed, Stage::kResetting}) {
    EXPECT_EQ(GateTo(stage), Gate::kG0);
  }
}

TEST(AlphaScheduleTest, HasTheGoldenValues) {
  const double five[] = {0, .182426, .377541, .622459, .817574, 1};
  for (int i = 0; i <= 5; ++i) EXPECT_NEAR(AlphaSchedule::Of(5, 1).At(i), five[i], 5e-7);
  const double ten[] = {0, .017986, .047426, .119203, .268941, .5, .731059, .880797, .952574, .982014, 1};
  for (int i = 0; i <= 10; ++i) EXPECT_NEAR(AlphaSchedule::Of(10, 1).At(i), ten[i], 5e-7);
  EXPECT_EQ(AlphaSchedule::Of(5, 1).At(-3), 0);
  EXPECT_EQ(AlphaSchedule::Of(5, 1).At(99), 1);
  EXPECT_EQ(AlphaSchedule::Of(0, 1).At(1), 1);
  EXPECT_EQ(AlphaSchedule::Of(4, 0).At(1), 0);
  EXPECT_EQ(AlphaSchedule::Of(4, 0).At(3), 1);
}

TEST(GradientStatisticsTest, HaveTheGoldenValues) {
  const GradientStatistics two = StatisticsOfNorms({3, 4});
  EXPECT_EQ(two.gradient_norm, 2.5);
  EXPECT_EQ(two.true_norm, 5);
  EXPECT_EQ(two.gradient_health, 1);
  const GradientStatistics three = StatisticsOfNorms({1e-8, 1, 200});
  EXPECT_NEAR(three.gradient_norm, 66.667500, 5e-7);
  EXPECT_NEAR(three.gradient_health, 0.566667, 5e-7);
  EXPECT_TRUE(three.has_vanishing);
  EXPECT_TRUE(three.has_exploding);
  const GradientStatistics none = StatisticsOfNorms({});
  EXPECT_EQ(none.gradient_norm, 0);
  EXPECT_EQ(none.gradient_health, 1);
  EXPECT_EQ(none.norm_ratio, 1);
  EXPECT_FALSE(none.has_vanishing || none.has_exploding);
}

TEST(GradientStatisticsTest, DescribeElementsAndLayers) {
  const std::vector<float> a = {3, 0, 0, 4}, b = {0.5f};
  const GradientStatistics s = CollectGradientStatistics({a, b});
  EXPECT_EQ(s.min_layer_norm, 0.5);
  EXPECT_EQ(s.max_layer_norm, 5);
  EXPECT_EQ(s.norm_ratio, 10);
  EXPECT_EQ(s.zero_fraction, 0.4);
  EXPECT_TRUE(s.is_healthy);
  const std::vector<float> zeros = {0, 0, 0, 1};
  EXPECT_FALSE(CollectGradientStatistics({zeros}).is_healthy);
  const std::vector<float> small = {1e-4f}, large = {1};
  EXPECT_FALSE(CollectGradientStatistics({small, large}).is_healthy);
  const std::vector<float> explosion = {101, 1};
  EXPECT_FALSE(CollectGradientStatistics({explosion}).is_healthy);
}

// C11.7: comparisons with NaN are false, so that the original calls such gradients healthy.
TEST(GradientStatisticsTest, AnythingNotFiniteIsNotHealthyAtAll) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> bad = {1, nan, infinity}, good = {1, 1};
  const GradientStatistics s = CollectGradientStatistics({good, bad});
  EXPECT_EQ(s.gradient_health, 0);
  EXPECT_FALSE(s.is_healthy);
  EXPECT_EQ(s.nan_count, 1);
  EXPECT_EQ(s.inf_count, 1);
  const std::vector<float> only_nan = {nan};
  EXPECT_EQ(CollectGradientStatistics({only_nan}).gradient_health, 0);
}

TEST(SeedGradientRatioTest, ComparesRootMeanSquares) {
  EXPECT_NEAR(SeedGradientRatio({.norm = 4, .elements = 16}, {.norm = 1, .elements = 4}), 0.5, 1e-7);
  EXPECT_EQ(SeedGradientRatio({.norm = 9e-9, .elements = 16}, {.norm = 1, .elements = 4}), 0);
  EXPECT_EQ(SeedGradientRatio({.norm = 4, .elements = 16}, {.norm = 9e-9, .elements = 4}), 0);
  EXPECT_EQ(SeedGradientRatio({.norm = 4, .elements = 0}, {.norm = 1, .elements = 4}), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(SeedGradientRatio({.norm = nan, .elements = 16}, {.norm = 1, .elements = 4}), 0);
  EXPECT_EQ(ExponentialAverage(std::nullopt, 3), 3);
  EXPECT_DOUBLE_EQ(ExponentialAverage(1, 2), 1.1);
}

// C11.19: the original counts the host's own gradients as violations.
TEST(GradientIsolationMonitorTest, CountsOnlyWhatPassesThroughTheSeed) {
  GradientIsolationMonitor monitor;
  EXPECT_TRUE(monitor.Record(0));
  EXPECT_TRUE(monitor.Record(9e-7));
  EXPECT_EQ(monitor.violations(), 0);
  EXPECT_FALSE(monitor.Record(1e-6));
  EXPECT_FALSE(monitor.Record(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(monitor.violations(), 2);
}

TEST(BlueprintTest, AreInTheOrderOfTheirEstimates) {
  for (const Topology topology : {Topology::kCnn, Topology::kTransformer}) {
    std::vector<std::string> names;
    int64_t last = 0;
    for (const Blueprint& b : Blueprints(topology)) {
      EXPECT_GT(b.estimate, last);
      last = b.estimate;
      names.push_back(b.name);
    }
    if (topology == Topology::kCnn) {
      EXPECT_THAT(names, ElementsAre("norm", "attention", "depthwise", "conv_light", "conv_heavy"));
    } else {
      EXPECT_THAT(names, ElementsAre("norm", "lora", "attention", "flex_attention", "mlp"));
    }
  }
  EXPECT_THAT(FindBlueprint(Topology::kTransformer, "conv_light"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("norm, lora, attention, flex_attention, mlp")));
}

TEST(BlueprintTest, GroupsDivideTheChannels) {
  EXPECT_EQ(ConvolutionGroups(16), 1);
  EXPECT_EQ(ConvolutionGroups(64), 4);
  EXPECT_EQ(ConvolutionGroups(48), 2);
  EXPECT_EQ(ConvolutionGroups(512), 32);
  EXPECT_EQ(ConvolutionGroups(8), 8);
  for (int64_t c = 1; c <= 200; ++c) {
    EXPECT_EQ(c % ConvolutionGroups(c), 0) << c;
    EXPECT_EQ(c % NormGroups(c), 0) << c;  // C11.11: the original fails where min(32, c) does not divide c
    EXPECT_LE(NormGroups(c), 32);
  }
  EXPECT_EQ(NormGroups(48), 24);
  EXPECT_EQ(NormGroups(64), 32);
}

TEST(HostTaskTest, AreFoundByNameInAnyCase) {
  ASSERT_OK_AND_ASSIGN(const HostTask cifar, FindHostTask("CIFAR10"));
  EXPECT_EQ(cifar.shape.cnn.base_channels, 8);
  EXPECT_EQ(cifar.batch_size, 128);
  EXPECT_EQ(cifar.max_epochs, 25);
  ASSERT_OK_AND_ASSIGN(const HostTask stories, FindHostTask("TinyStories"));
  EXPECT_EQ(stories.shape.topology, Topology::kTransformer);
  EXPECT_EQ(stories.max_steps, 50000);
  EXPECT_THAT(FindHostTask("x"),
              StatusIs(absl::StatusCode::kNotFound, std::string("Unknown task 'x'. Available: cifar10, tinystories")));
}

TEST(TopologyTest, RefusesShapesThatCannotBe) {
  HostShape shape;
  EXPECT_OK(ValidateHostShape(shape));
  shape.cnn.num_blocks = 1;
  EXPECT_THAT(ValidateHostShape(shape),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("number of blocks is 1")));
  shape.topology = Topology::kTransformer;
  shape.transformer.num_heads = 5;
  EXPECT_THAT(ValidateHostShape(shape), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("384")));
  shape.transformer.num_heads = 6;
  EXPECT_OK(ValidateHostShape(shape));
  shape.transformer.dropout = 1;
  EXPECT_THAT(ValidateHostShape(shape), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dropout")));
}

TEST(TopologyTest, SlotsAreBehindEveryBlockButTheFirstOfACnn) {
  const std::vector<InjectionPoint> cnn = InjectionPoints(FindHostTask("cifar10")->shape);
  ASSERT_EQ(cnn.size(), 2u);
  EXPECT_EQ(cnn[0].slot_id, "block2_post");
  EXPECT_EQ(cnn[0].channels, 16);
  EXPECT_EQ(cnn[1].slot_id, "block3_post");
  EXPECT_EQ(cnn[1].channels, 32);
  const std::vector<InjectionPoint> transformer = InjectionPoints(FindHostTask("tinystories")->shape);
  ASSERT_EQ(transformer.size(), 6u);
  EXPECT_EQ(transformer[5].slot_id, "layer_5_post_block");
  EXPECT_EQ(transformer[5].channels, 384);
}

}  // namespace
}  // namespace reprise::models
