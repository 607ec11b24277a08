#include "models/morphogenesis/life_cycle/gates.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace reprise::models {
namespace {

void Check(bool passed, std::string if_passed, std::string if_failed, GateResult* result) {
  if (passed) {
    result->checks_passed.push_back(std::move(if_passed));
  } else {
    result->checks_failed.push_back(std::move(if_failed));
  }
}

void CheckEpochs(const SeedMetrics& metrics, const GateThresholds& thresholds, GateResult* result) {
  const int epochs = metrics.epochs_in_current_stage;
  Check(epochs >= thresholds.min_blending_epochs, absl::StrCat("epochs_in_stage_", epochs),
        absl::StrCat("epochs_in_stage_", epochs, "_below_", thresholds.min_blending_epochs), result);
}

double Clamped(double score) { return score > 0 ? std::min(score, 1.0) : 0.0; }  // NaN: 0

void CheckTrained(const SeedMetrics& metrics, const GateThresholds& thresholds, GateResult* result) {
  const double improvement = metrics.ImprovementSinceStageStart();
  Check(improvement >= thresholds.min_training_improvement, absl::StrFormat("improvement_%.2f", improvement),
        absl::StrFormat("improvement_%.2f_below_%.2f", improvement, thresholds.min_training_improvement), result);
  const int violations = metrics.isolation_violations;
  Check(violations <= thresholds.max_isolation_violations, absl::StrCat("isolation_violations_", violations),
        absl::StrCat("isolation_violations_", violations, "_above_", thresholds.max_isolation_violations), result);
  CheckEpochs(metrics, thresholds, result);
  const double ratio = metrics.seed_gradient_norm_ratio;
  Check(ratio >= thresholds.min_seed_gradient_ratio, absl::StrFormat("seed_gradient_ratio_%.3f", ratio),
        absl::StrFormat("seed_gradient_ratio_%.3f_below_%.3f", ratio, thresholds.min_seed_gradient_ratio), result);
  result->score = Clamped(improvement / 5.0);
}

void CheckBlended(const SeedState& seed, const GateThresholds& thresholds, GateResult* result) {
  CheckEpochs(seed.metrics, thresholds, result);
  Check(seed.alpha >= thresholds.min_shadowing_alpha, absl::StrFormat("alpha_%.2f", seed.alpha),
        absl::StrFormat("alpha_%.2f_below_%.2f", seed.alpha, thresholds.min_shadowing_alpha), result);
  result->score = Clamped(seed.alpha);
}

void CheckContribution(const SeedState& seed, GateResult* result) {
  const std::optional<double>& contribution = seed.metrics.counterfactual_contribution;
  if (contribution.has_value()) {
    Check(*contribution > 0, absl::StrFormat("contribution_%.2f", *contribution),
          absl::StrFormat("contribution_%.2f_not_positive", *contribution), result);
    result->score = Clamped(*contribution / 10.0);
  } else {
    result->checks_failed.push_back("counterfactual_not_available");
  }
  Check(seed.is_healthy, "healthy", "not_healthy", result);
}

void CheckStage(const SeedState& seed, Stage required, std::string if_passed, std::string if_failed,
                GateResult* result) {
  Check(seed.stage == required, std::move(if_passed), std::move(if_failed), result);
}

void CheckNamed(const SeedState& seed, GateResult* result) {
  Check(!seed.seed_id.empty(), "seed_id_present", "seed_id_missing", result);
  Check(!seed.blueprint_id.empty(), "blueprint_id_present", "blueprint_id_missing", result);
}

void Conclude(GateResult* result) {
  result->passed = result->checks_failed.empty();
  const std::vector<std::string>& checks = result->passed ? result->checks_passed : result->checks_failed;
  result->message =
      absl::StrCat(NameOf(result->gate), result->passed ? " passed: " : " failed: ", absl::StrJoin(checks, ", "));
}

}  // namespace

absl::string_view NameOf(Gate gate) {
  constexpr absl::string_view kNames[] = {"G0", "G1", "G2", "G3", "G4", "G5"};
  return kNames[static_cast<size_t>(gate)];
}

Gate GateTo(Stage target) {
  switch (target) {
    case Stage::kTraining:
      return Gate::kG1;
    case Stage::kBlending:
      return Gate::kG2;
    case Stage::kShadowing:
      return Gate::kG3;
    case Stage::kProbationary:
      return Gate::kG4;
    case Stage::kFossilized:
      return Gate::kG5;
    default:
      return Gate::kG0;
  }
}

GateResult CheckGate(const SeedState& seed, Stage target, const GateThresholds& thresholds) {
  GateResult result;
  result.gate = GateTo(target);
  switch (result.gate) {
    case Gate::kG0:
      CheckNamed(seed, &result);
      break;
    case Gate::kG1:
      CheckStage(seed, Stage::kGerminated, "germinated", "not_germinated", &result);
      break;
    case Gate::kG2:
      CheckTrained(seed.metrics, thresholds, &result);
      break;
    case Gate::kG3:
      CheckBlended(seed, thresholds, &result);
      break;
    case Gate::kG4:
      CheckStage(seed, Stage::kShadowing, "shadowing", "not_shadowing", &result);
      break;
    case Gate::kG5:
      CheckContribution(seed, &result);
      break;
  }
  Conclude(&result);
  const bool scored = result.gate == Gate::kG2 || result.gate == Gate::kG3 || result.gate == Gate::kG5;
  if (!scored) result.score = result.passed ? 1.0 : 0.0;
  return result;
}

GateResult FailedGate(Gate gate, absl::string_view check) {
  GateResult result;
  result.gate = gate;
  result.checks_failed.emplace_back(check);
  Conclude(&result);
  return result;
}

}  // namespace reprise::models
