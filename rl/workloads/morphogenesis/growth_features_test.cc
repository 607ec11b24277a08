#include "rl/workloads/morphogenesis/growth_features.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using models::Stage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
const GrowthScale kScale = {.max_epochs = 25, .batches_per_epoch = 8, .max_steps = 10000, .host_params = 6418};

TrainingSignals Signals() {
  SignalTracker tracker;
  tracker.Update({.train_loss = 2.5, .train_accuracy = 10, .val_loss = 2.25, .val_accuracy = 12});
  tracker.Update({.train_loss = 2, .train_accuracy = 20, .val_loss = 1.75, .val_accuracy = 37});
  return tracker.signals();
}

GrowthReport Growing() {
  return {.host_gradient_norm = 25,
          .seed = SeedReport{.stage = Stage::kBlending,
                             .blueprint = 3,
                             .epochs_in_stage = 4,
                             .alpha = 0.5,
                             .stage_improvement = 30,
                             .counterfactual = -2,
                             .gradient_norm = 4,
                             .gradient_health = 0.5,
                             .is_exploding = true}};
}

std::vector<float> Of(const TrainingSignals& signals, const GrowthReport& report, bool has_telemetry = false) {
  return GrowthFeatures(kScale, /*blueprints=*/5, has_telemetry, signals, report);
}

TEST(GrowthFeaturesTest, DescribeAHostWithoutASeed) {
  const std::vector<float> features = Of(Signals(), {.host_gradient_norm = 2.5});
  const std::vector<float> expected = {2.0F / 25, 16.0F / 10000,
                                       0.2F,      0.175F,
                                       0.1F,      0.2F,
                                       0.37F,     0.5F,
                                       0,         0.37F,
                                       0.175F,  //
                                       0,         0,
                                       0,         0.225F,
                                       0.175F,  //
                                       0,         0,
                                       0,         0.12F,
                                       0.37F,  //
                                       0,         0,
                                       0,         0,
                                       0,         1,
                                       0,         0.25F,
                                       2.0F / 25,  //
                                       0,         0,
                                       0,         0,
                                       0};
  ASSERT_EQ(features.size(), 35u);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(features[i], expected[i]) << i;
}

TEST(GrowthFeaturesTest, DescribeTheSeed) {
  const std::vector<float> features = Of(Signals(), Growing());
  const std::vector<float> expected = {1, 4.0F / 7, 0.08F, 0.5F, 1, 0, -0.2F, 1, 0.08F, 0, 0, 0, 1, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(features[21 + i], expected[i]) << 21 + i;
}

TEST(GrowthFeaturesTest, TelemetryAddsTenNumbersAboutTheSeed) {
  const std::vector<float> features = Of(Signals(), Growing(), true);
  ASSERT_EQ(features.size(), 45u);
  const std::vector<float> expected = {0.4F, 0.5F, 0, 1, 0.08F, 0.37F, 1, 0.5F, 0.5F, 0.08F};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(features[35 + i], expected[i]) << 35 + i;
  const std::vector<float> without = Of(Signals(), {}, true);
  ASSERT_EQ(without.size(), 45u);
  for (size_t i = 35; i < 45; ++i) EXPECT_EQ(without[i], 0) << i;
}

// In esper-lite an epoch is a share of 200, whatever the length of the episode.
TEST(GrowthFeaturesTest, AnEpochIsAShareOfTheEpisode) {
  TrainingSignals signals = Signals();
  signals.epoch = 25;
  EXPECT_EQ(Of(signals, {})[0], 1);
  EXPECT_EQ(Of(signals, {})[29], 1);
}

// In esper-lite the loss delta of the first epoch is infinite.
TEST(GrowthFeaturesTest, TheFirstEpochHasNoDeltas) {
  SignalTracker tracker;
  tracker.Update({.val_loss = 2, .val_accuracy = 40});
  const std::vector<float> features = Of(tracker.signals(), {});
  EXPECT_EQ(features[4], 0);
  EXPECT_EQ(features[7], 0);
}

// In esper-lite the order of these features is not that of the actions, and transformers have none.
TEST(GrowthFeaturesTest, TheBlueprintIsThatOfTheAction) {
  for (int64_t blueprint = 0; blueprint < 5; ++blueprint) {
    GrowthReport report = Growing();
    report.seed->blueprint = blueprint;
    const std::vector<float> features = Of(Signals(), report);
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(features[30 + i], i == blueprint ? 1 : 0);
  }
}

TEST(GrowthFeaturesTest, WhatIsNotFiniteIsReplaced) {
  EXPECT_EQ(Safe(std::nullopt, 3), 3);
  EXPECT_EQ(Safe(kNan, 3), 3);
  EXPECT_EQ(Safe(-kInf, 3), 3);
  EXPECT_EQ(Safe(1e9, 3), 100);
  EXPECT_EQ(Safe(-7, 3, 5), -5);
  TrainingSignals signals = Signals();
  signals.measures.train_loss = kNan;
  signals.measures.val_loss = kInf;
  signals.loss_delta = -kInf;
  const std::vector<float> features = Of(signals, {});
  EXPECT_EQ(features[2], 1) << "a bad loss is 10";
  EXPECT_EQ(features[3], 1);
  EXPECT_EQ(features[4], 0);
}

}  // namespace
}  // namespace reprise::rl
