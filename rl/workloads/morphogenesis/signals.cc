#include "rl/workloads/morphogenesis/signals.h"

#include <algorithm>

namespace reprise::rl {
namespace {

void AppendTo(std::vector<double>* history, double value) {
  history->push_back(value);
  if (history->size() > TrainingSignals::kHistory) history->erase(history->begin());
}

}  // namespace

const TrainingSignals& SignalTracker::Update(const EpochMeasures& measures) {
  TrainingSignals& now = signals_;
  const EpochMeasures before = now.measures;
  const bool is_first = now.epoch == 0;
  ++now.epoch;
  now.measures = measures;
  AppendTo(&now.losses_H, measures.val_loss);
  AppendTo(&now.accuracies_H, measures.val_accuracy);
  now.best_val_accuracy = is_first ? measures.val_accuracy : std::max(now.best_val_accuracy, measures.val_accuracy);
  now.best_val_loss = is_first ? measures.val_loss : std::min(now.best_val_loss, measures.val_loss);
  if (is_first) return now;
  now.loss_delta = before.val_loss - measures.val_loss;
  now.accuracy_delta = measures.val_accuracy - before.val_accuracy;
  now.plateau_epochs = now.accuracy_delta < kPlateauThreshold ? now.plateau_epochs + 1 : 0;
  // A loss of 0 cannot improve.
  const double improvement = before.val_loss > 0 ? now.loss_delta / before.val_loss : 0;
  const bool is_stable = improvement < kStableImprovement && measures.val_loss < kStableGrowth * before.val_loss;
  stable_epochs_ = is_stable ? stable_epochs_ + 1 : 0;
  now.is_stabilized = now.is_stabilized || stable_epochs_ >= kStableEpochs;
  return now;
}

}  // namespace reprise::rl
