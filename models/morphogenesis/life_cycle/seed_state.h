#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_SEED_STATE_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_SEED_STATE_H_

// What is known about a live seed: its stage, how long it has been there, and what the network's accuracy did
// meanwhile. Accuracies are percentages, improvements are percentage points, times are epochs of the episode.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/morphogenesis/life_cycle/stage.h"

namespace reprise::models {

struct SeedMetrics {
  int epochs_total = 0;  // the seed's age
  int epochs_in_current_stage = 0;
  double initial_val_accuracy = 0;
  double current_val_accuracy = 0;
  double best_val_accuracy = 0;
  double accuracy_at_stage_start = 0;
  std::optional<double> accuracy_at_blending_start;  // none: never blended
  bool has_baseline = false;                         // accuracies above are of a network, and not 0 for want of one
  int isolation_violations = 0;
  bool has_gradients = false;    // the two averages of gradients have a first value
  double gradient_norm_avg = 0;  // exponential average of the seed's true gradient norm
  double current_alpha = 0;
  int alpha_ramp_step = 0;
  std::optional<double> counterfactual_contribution;  // accuracy with the seed minus that without it
  double seed_gradient_norm_ratio = 0;                // see gradient_statistics.h

  // Sets all accuracies to that of the network into which the seed is germinated, so that the gain of the seed's first
  // epoch counts.
  void RecordBaseline(double accuracy);

  // After an epoch's validation: the current and the best accuracy, and both counters of epochs. Without a baseline the
  // first call sets it.
  void RecordAccuracy(double accuracy);

  double TotalImprovement() const { return current_val_accuracy - initial_val_accuracy; }
  double ImprovementSinceStageStart() const { return current_val_accuracy - accuracy_at_stage_start; }
  double BlendingDelta() const;  // since blending began; 0 if it never did
};

struct StageEntry {
  Stage stage = Stage::kUnknown;
  int64_t epoch = 0;

  friend bool operator==(const StageEntry&, const StageEntry&) = default;
};

inline constexpr int kMaxStageHistory = 100;

struct SeedState {
  std::string seed_id, blueprint_id, slot_id;
  Stage stage = Stage::kDormant;
  Stage previous_stage = Stage::kUnknown;
  int previous_epochs_in_stage = 0;
  int64_t stage_entered_at = 0;  // epochs of the episode that were over
  double alpha = 0;
  SeedMetrics metrics;
  int blending_steps_done = 0, blending_steps_total = 0;
  bool is_healthy = true, is_paused = false;
  std::vector<StageEntry> stage_history;  // the last kMaxStageHistory

  // Enters a stage: remembers the previous one, sets the stage's baseline to the current accuracy and its age to 0.
  // Returns false, and changes nothing, if the transition is not valid.
  bool Transition(Stage to, int64_t epoch);
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_SEED_STATE_H_
