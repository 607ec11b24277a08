#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_GATES_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_GATES_H_

// Gates judge whether a seed may enter a stage. All comparisons are inclusive, except that of G5.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "models/morphogenesis/life_cycle/seed_state.h"

namespace reprise::models {

enum class Gate : uint8_t { kG0 = 0, kG1 = 1, kG2 = 2, kG3 = 3, kG4 = 4, kG5 = 5 };

absl::string_view NameOf(Gate gate);  // "G0", ...

struct GateThresholds {
  double min_training_improvement = 0.5;  // percentage points
  int min_blending_epochs = 3;
  int max_isolation_violations = 10;
  double min_seed_gradient_ratio = 0.05;
  double min_shadowing_alpha = 0.95;
};

struct GateResult {
  Gate gate = Gate::kG0;
  bool passed = false;
  double score = 0;  // in [0, 1]
  std::vector<std::string> checks_passed, checks_failed;
  std::string message;  // "G2 failed: seed_gradient_ratio_0.010_below_0.050"
};

Gate GateTo(Stage target);  // the gate before a stage; G0 for those that have none of their own

// Judges whether the seed may enter `target`. Pure.
GateResult CheckGate(const SeedState& seed, Stage target, const GateThresholds& thresholds);

// The result of a gate that could not be tried, such as "no_active_seed".
GateResult FailedGate(Gate gate, absl::string_view check);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_GATES_H_
