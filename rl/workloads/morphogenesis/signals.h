#ifndef RL_WORKLOADS_MORPHOGENESIS_SIGNALS_H_
#define RL_WORKLOADS_MORPHOGENESIS_SIGNALS_H_

// What a controller observes of the training of a host, computed from its losses and accuracies after each epoch.

#include <cstdint>
#include <vector>

namespace reprise::rl {

// The measured numbers of one epoch; all are finite. Accuracies in percent.
struct EpochMeasures {
  double train_loss = 0, train_accuracy = 0;
  double val_loss = 0, val_accuracy = 0;

  bool operator==(const EpochMeasures&) const = default;
};

// The state of a host's training after an epoch.
struct TrainingSignals {
  int64_t epoch = 0;  // counted from 1
  EpochMeasures measures = {};
  // The old loss minus the new one: positive where the loss fell. 0 after the first epoch, as is the next one.
  double loss_delta = 0;
  double accuracy_delta = 0;  // percentage points
  int64_t plateau_epochs = 0;
  bool is_stabilized = false;
  double best_val_accuracy = 0, best_val_loss = 0;       // of all epochs so far
  std::vector<double> losses_H = {}, accuracies_H = {};  // of the last epochs, at most kHistory, oldest first

  static constexpr size_t kHistory = 5;
};

// Follows one episode. Departs from esper-lite's tracker: the first epoch has no change (there, its whole accuracy and
// an infinite loss delta count as one), and the best loss is that of all epochs (there, of a window).
class SignalTracker {
 public:
  const TrainingSignals& Update(const EpochMeasures& measures);
  const TrainingSignals& signals() const { return signals_; }

  static constexpr double kPlateauThreshold = 0.5;  // percentage points: a smaller gain is a plateau
  static constexpr double kStableImprovement = 0.03, kStableGrowth = 1.5;
  static constexpr int64_t kStableEpochs = 3;

 private:
  TrainingSignals signals_;
  int64_t stable_epochs_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_SIGNALS_H_
