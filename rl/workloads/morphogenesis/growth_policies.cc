#include "rl/workloads/morphogenesis/growth_policies.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"

namespace reprise::rl {
namespace {

using models::Stage;

constexpr absl::string_view kTurns[] = {"conv_light", "conv_heavy", "attention", "norm", "depthwise"};

std::vector<int64_t> OrderByTurn(const std::vector<std::string>& names) {
  std::vector<int64_t> turns;
  for (const absl::string_view name : kTurns) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) turns.push_back(found - names.begin());
  }
  if (turns.size() == names.size()) return turns;
  turns.clear();
  for (size_t i = 0; i < names.size(); ++i) turns.push_back(static_cast<int64_t>(i));
  return turns;
}

double Confidence(double amount) { return std::clamp(amount / 5, 0.0, 1.0); }

}  // namespace

HeuristicController::HeuristicController(const GrowthActions& actions, const HeuristicOptions& options)
    : options_(options),
      turn_B_(OrderByTurn(actions.blueprint_names())),
      penalty_B_(turn_B_.size(), 0),
      epochs_since_cull_(options.embargo_epochs) {}

int64_t HeuristicController::NextBlueprint() {
  for (size_t tried = 0; tried < turn_B_.size(); ++tried) {
    const int64_t blueprint = turn_B_[next_];
    next_ = (next_ + 1) % turn_B_.size();
    if (penalty_B_[blueprint] < options_.most_penalty) return blueprint;
  }
  return std::min_element(penalty_B_.begin(), penalty_B_.end()) - penalty_B_.begin();
}

HeuristicDecision HeuristicController::DecideToGerminate(const TrainingSignals& signals) {
  if (epochs_since_cull_ < options_.embargo_epochs) {
    return {
        {}, 1, absl::StrCat("embargo for ", options_.embargo_epochs - epochs_since_cull_, " more epochs after a cull")};
  }
  if (!signals.is_stabilized) return {{}, 1, "the host's training is not stable"};
  if (signals.epoch < models::kMinGerminateEpoch) return {{}, 1, "too early"};
  if (signals.plateau_epochs < models::kMinPlateauToGerminate) return {{}, 1, "the accuracy rises"};
  return {{GrowthActionKind::kGerminate, NextBlueprint()},
          Confidence(static_cast<double>(signals.plateau_epochs)),
          absl::StrCat("plateau of ", signals.plateau_epochs, " epochs")};
}

HeuristicDecision HeuristicController::DecideOnSeed(const SeedReport& seed) const {
  if (seed.stage == Stage::kProbationary) {
    const double gain = seed.counterfactual.value_or(seed.total_improvement);
    if (gain > 0) return {{GrowthActionKind::kFossilize}, Confidence(gain), absl::StrCat("it contributes ", gain)};
    return {{GrowthActionKind::kCull}, Confidence(-gain), absl::StrCat("it contributes ", gain)};
  }
  const bool can_fail =
      seed.stage == Stage::kTraining || seed.stage == Stage::kBlending || seed.stage == Stage::kShadowing;
  if (can_fail && seed.epochs_in_stage >= options_.failing_epochs && seed.stage_improvement < options_.failing) {
    return {{GrowthActionKind::kCull},
            Confidence(-seed.stage_improvement),
            absl::StrCat("the accuracy fell by ", -seed.stage_improvement)};
  }
  return {{}, Confidence(seed.stage_improvement), "the seed is on its way"};
}

HeuristicDecision HeuristicController::Decide(const TrainingSignals& signals, const GrowthReport& report) {
  for (double& penalty : penalty_B_) {
    penalty *= options_.penalty_decay;
    if (penalty < options_.forgotten) penalty = 0;
  }
  ++epochs_since_cull_;
  HeuristicDecision decision = report.seed ? DecideOnSeed(*report.seed) : DecideToGerminate(signals);
  if (decision.action.kind == GrowthActionKind::kCull) {
    if (report.seed->age < models::kMinCullAge) return {{}, 1, "the seed is too young to be removed"};
    penalty_B_[report.seed->blueprint] += options_.cull_penalty;
    epochs_since_cull_ = 0;
  }
  return decision;
}

int64_t RandomAction(absl::Span<const uint8_t> allowed_A, double uniform) {
  const int64_t allowed = std::count_if(allowed_A.begin(), allowed_A.end(), [](uint8_t a) { return a != 0; });
  CHECK_GT(allowed, 0);
  int64_t skipped = std::min(static_cast<int64_t>(uniform * static_cast<double>(allowed)), allowed - 1);
  for (size_t action = 0; action < allowed_A.size(); ++action) {
    if (allowed_A[action] != 0 && skipped-- == 0) return static_cast<int64_t>(action);
  }
  return 0;
}

}  // namespace reprise::rl
