#include "models/morphogenesis/networks/slot.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/life_cycle/alpha_schedule.h"

namespace reprise::models {

ForcedAlpha::ForcedAlpha(Slot* slot, double alpha)
    : slot_(slot), outer_(std::exchange(slot->forced_alpha_, std::clamp(alpha, 0.0, 1.0))) {}

absl::Status Slot::CheckGermination(const Blueprint& blueprint) const {
  if (forced_alpha_.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("Slot ", point_.slot_id, " has a forced alpha"));
  }
  if (module_ != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("Slot ", point_.slot_id, " already has active seed"));
  }
  if (embargo_remaining_ > 0) {
    return absl::FailedPreconditionError(absl::StrCat("Slot ", point_.slot_id, " is under embargo for ",
                                                      embargo_remaining_, " more epochs after a cull"));
  }
  if (seeds_germinated_ >= kMostSeeds) {
    return absl::FailedPreconditionError(
        absl::StrCat("Slot ", point_.slot_id, " has had ", seeds_germinated_, " seeds, the most of an episode"));
  }
  return BlueprintParameters(topology_, blueprint, point_.channels).status();
}

bool Slot::Enter(Stage to) {
  const SeedState before = *state_;
  if (!state_->Transition(to, epoch_)) return false;
  events_.push_back(EventOf(SlotEventKind::kStageChanged, before, before.stage));
  events_.back().to = to;
  switch (to) {
    case Stage::kBlending:
      state_->metrics.accuracy_at_blending_start = state_->metrics.current_val_accuracy;
      state_->blending_steps_done = 0;
      state_->blending_steps_total = std::max(1, options_.blending_steps);
      SetAlpha(0);
      break;
    case Stage::kFossilized:
      SetAlpha(1);
      events_.push_back(EventOf(SlotEventKind::kFossilized, before, before.stage));
      Fossilise();
      break;
    default:
      break;
  }
  return true;
}

void Slot::Fossilise() {
  const Blueprint blueprint = *FindBlueprint(topology_, state_->blueprint_id);
  RequireGradients(false, module_->parameters());
  fossils_.push_back({blueprint, std::move(module_)});
  Empty();
}

void Slot::Empty() {
  state_.reset();
  module_.reset();
  monitor_ = GradientIsolationMonitor();
  passed_through_input_ = 0;
}

GateResult Slot::AdvanceStage(std::optional<Stage> target) {
  if (module_ == nullptr) return FailedGate(Gate::kG0, "no_active_seed");
  if (forced_alpha_.has_value()) return FailedGate(Gate::kG0, "alpha_is_forced");
  if (!target.has_value()) {
    const std::vector<Stage> successors = Successors(state_->stage);
    const auto next = std::find_if_not(successors.begin(), successors.end(), IsFailure);
    if (next == successors.end()) return FailedGate(Gate::kG0, "no_valid_transition");
    target = *next;
  }
  return TryToEnter(*target);
}

GateResult Slot::TryToEnter(Stage target) {
  GateResult result = CheckGate(*state_, target, options_.thresholds);
  // A cull is not a stage that a seed advances to: Cull also empties the slot.
  if (result.passed && (IsFailure(target) || !Enter(target))) return FailedGate(result.gate, "transition_failed");
  return result;
}

absl::StatusOr<bool> Slot::Cull(absl::string_view reason) {
  if (forced_alpha_.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("Slot ", point_.slot_id, " has a forced alpha"));
  }
  if (module_ == nullptr) return false;
  SlotEvent culled = EventOf(SlotEventKind::kCulled, *state_, state_->stage);
  culled.to = Stage::kCulled;
  culled.reason = std::string(reason);
  Enter(Stage::kCulled);
  events_.push_back(culled);
  std::optional<SeedState> resting = std::move(state_);
  Empty();
  embargo_remaining_ = options_.embargo_epochs;
  if (embargo_remaining_ > 0) state_ = std::move(resting);
  return true;
}

void Slot::StepEpoch() {
  if (module_ == nullptr) return StepEmbargo();
  const int epochs = state_->metrics.epochs_in_current_stage;
  switch (state_->stage) {
    case Stage::kGerminated:
      TryToEnter(Stage::kTraining);
      break;
    case Stage::kTraining:
      if (epochs >= options_.min_training_epochs) TryToEnter(Stage::kBlending);
      break;
    case Stage::kBlending:
      StepBlending();
      break;
    case Stage::kShadowing:
      if (epochs >= options_.min_shadowing_epochs) TryToEnter(Stage::kProbationary);
      break;
    default:
      break;
  }
}

void Slot::StepBlending() {
  const int done = ++state_->blending_steps_done;
  state_->metrics.alpha_ramp_step = done;
  SetAlpha(AlphaSchedule::Of(state_->blending_steps_total, options_.blend_temperature).At(done));
  if (done >= state_->blending_steps_total) TryToEnter(Stage::kShadowing);
}

void Slot::StepEmbargo() {
  if (!state_.has_value()) return;
  --embargo_remaining_;
  if (state_->stage == Stage::kCulled) Enter(Stage::kEmbargoed);
  if (embargo_remaining_ > 0) return;
  Enter(Stage::kResetting);
  Enter(Stage::kDormant);
  Empty();
}

}  // namespace reprise::models
