#include "rl/workloads/morphogenesis/signals.h"

#include <vector>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TrainingSignals After(const std::vector<EpochMeasures>& epochs) {
  SignalTracker tracker;
  for (const EpochMeasures& epoch : epochs) tracker.Update(epoch);
  return tracker.signals();
}

EpochMeasures Val(double loss, double accuracy) { return {.val_loss = loss, .val_accuracy = accuracy}; }

// Losses alone; accuracies rise, so that there is no plateau.
TrainingSignals AfterLosses(const std::vector<double>& losses) {
  SignalTracker tracker;
  for (size_t i = 0; i < losses.size(); ++i) tracker.Update(Val(losses[i], static_cast<double>(i)));
  return tracker.signals();
}

// Esper-lite begins with accuracy 0 and an infinite loss: the first epoch of any host had a gain of its whole accuracy.
TEST(SignalTrackerTest, TheFirstEpochHasNoChange) {
  const TrainingSignals first = After({Val(2.0, 40)});
  EXPECT_EQ(first.epoch, 1);
  EXPECT_EQ(first.accuracy_delta, 0);
  EXPECT_EQ(first.loss_delta, 0);
  EXPECT_EQ(first.plateau_epochs, 0);
  EXPECT_EQ(first.best_val_accuracy, 40);
  EXPECT_EQ(first.best_val_loss, 2.0);
}

TEST(SignalTrackerTest, AFallingLossIsAPositiveDelta) {
  EXPECT_EQ(After({Val(2.0, 10), Val(1.5, 20)}).loss_delta, 0.5);
  EXPECT_EQ(After({Val(2.0, 10), Val(2.5, 20)}).loss_delta, -0.5);
  EXPECT_EQ(After({Val(2.0, 10), Val(2.5, 20)}).accuracy_delta, 10);
}

TEST(SignalTrackerTest, APlateauIsAGainBelowHalfAPoint) {
  EXPECT_EQ(After({Val(2, 10), Val(2, 10.5)}).plateau_epochs, 0);
  EXPECT_EQ(After({Val(2, 10), Val(2, 10.4375)}).plateau_epochs, 1);
  EXPECT_EQ(After({Val(2, 10), Val(2, 10), Val(2, 9), Val(2, 9.25)}).plateau_epochs, 3);
  EXPECT_EQ(After({Val(2, 10), Val(2, 10), Val(2, 10.5)}).plateau_epochs, 0);
}

TEST(SignalTrackerTest, StabilizesAfterThreeEpochsOfSmallImprovement) {
  EXPECT_FALSE(AfterLosses({2, 2, 2}).is_stabilized) << "two changes";
  EXPECT_TRUE(AfterLosses({2, 2, 2, 2}).is_stabilized);
  EXPECT_FALSE(AfterLosses({2, 2, 2, 1.9375, 1.9375, 1.9375}).is_stabilized) << "3.1% begins the count anew";
  EXPECT_TRUE(AfterLosses({2, 2, 2, 1.9375, 1.9375, 1.9375, 1.9375}).is_stabilized);
  EXPECT_FALSE(AfterLosses({2, 2, 2, 3}).is_stabilized) << "1.5 times the loss is no stable training";
  EXPECT_TRUE(AfterLosses({2, 2, 2, 2.9375}).is_stabilized);
}

TEST(SignalTrackerTest, OnceStabilizedStaysSo) { EXPECT_TRUE(AfterLosses({2, 2, 2, 2, 1, 0.5, 10}).is_stabilized); }

TEST(SignalTrackerTest, ShowsTheLastFiveEpochs) {
  const TrainingSignals signals = AfterLosses({7, 6, 5, 4, 3, 2, 8});
  EXPECT_EQ(signals.losses_H, (std::vector<double>{5, 4, 3, 2, 8}));
  EXPECT_EQ(signals.accuracies_H, (std::vector<double>{2, 3, 4, 5, 6}));
}

// Esper-lite's best loss is that of a window of ten epochs.
TEST(SignalTrackerTest, TheBestLossIsNeverForgotten) {
  std::vector<double> losses = {1};
  losses.resize(30, 4);
  EXPECT_EQ(AfterLosses(losses).best_val_loss, 1);
  EXPECT_EQ(After({Val(2, 50), Val(2, 10), Val(2, 20)}).best_val_accuracy, 50);
}

}  // namespace
}  // namespace reprise::rl
