#include "models/morphogenesis/life_cycle/seed_state.h"

#include <algorithm>

namespace reprise::models {

void SeedMetrics::RecordBaseline(double accuracy) {
  has_baseline = true;
  initial_val_accuracy = current_val_accuracy = best_val_accuracy = accuracy_at_stage_start = accuracy;
}

void SeedMetrics::RecordAccuracy(double accuracy) {
  if (!has_baseline) RecordBaseline(accuracy);
  current_val_accuracy = accuracy;
  best_val_accuracy = std::max(best_val_accuracy, accuracy);
  ++epochs_total;
  ++epochs_in_current_stage;
}

double SeedMetrics::BlendingDelta() const {
  return accuracy_at_blending_start.has_value() ? current_val_accuracy - *accuracy_at_blending_start : 0.0;
}

bool SeedState::Transition(Stage to, int64_t epoch) {
  if (!IsValidTransition(stage, to)) return false;
  previous_stage = stage;
  previous_epochs_in_stage = metrics.epochs_in_current_stage;
  stage = to;
  stage_entered_at = epoch;
  stage_history.push_back({to, epoch});
  if (stage_history.size() > kMaxStageHistory) stage_history.erase(stage_history.begin());
  metrics.accuracy_at_stage_start = metrics.current_val_accuracy;
  metrics.epochs_in_current_stage = 0;
  return true;
}

}  // namespace reprise::models
