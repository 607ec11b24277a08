#include "rl/workloads/morphogenesis/play_growth.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel/activity.h"
#include "core/status/status_macros.h"
#include "kernels/math/scalar_math.h"
#include "rl/workloads/morphogenesis/governor.h"
#include "rl/workloads/morphogenesis/growth_features.h"

namespace reprise::rl {
namespace {

using models::Stage;

constexpr double kBadLoss = 10, kMostNorm = 1e6;

double RandomGuess(const models::HostShape& shape) {
  const int64_t choices =
      shape.topology == models::Topology::kCnn ? shape.cnn.num_classes : shape.transformer.vocab_size;
  return kernels::Log(static_cast<double>(choices));
}

// One host while it is played.
class HostGame {
 public:
  // snapshot: of the host as it begins
  HostGame(const GrowthDeps& parts, uint64_t host_seed, std::unique_ptr<models::HostSession> host,
           std::shared_ptr<const models::HostSnapshot> snapshot)
      : parts_(parts),
        host_seed_(host_seed),
        host_(std::move(host)),
        governor_({.random_guess = RandomGuess(parts.rules.task.shape)}),
        snapshot_(std::move(snapshot)) {}

  // Trains and validates an epoch, and returns what the controller observes.
  absl::StatusOr<GrowthReport> PlayEpoch(int64_t epoch);
  // Carries out an action after the epoch.
  absl::Status Act(int64_t epoch, const GrowthAction& action);
  // Returns the report of the epoch that was played last, with the slot as it is now.
  GrowthReport ReportNow() const;

  int64_t host_params() const { return host_->host_params(); }
  std::vector<GrowthEvent> TakeEvents();

 private:
  absl::StatusOr<models::HostEvaluation> Validate(std::optional<double> alpha = std::nullopt) {
    return host_->Evaluate(parts_.examples.validation().batches, alpha);
  }
  absl::StatusOr<models::HostEvaluation> RollBack(int64_t epoch, const Panic& panic);
  absl::Status Germinate(int64_t blueprint);
  void TakeSlotEvents();
  std::optional<SeedReport> SeedNow() const;

  const GrowthDeps& parts_;
  const uint64_t host_seed_;
  const std::unique_ptr<models::HostSession> host_;
  Governor governor_;
  std::shared_ptr<const models::HostSnapshot> snapshot_;
  GrowthBatches batches_;
  GrowthReport report_;            // of the last epoch, without its seed
  models::EpochTraining trained_;  // in the last epoch
  int64_t blueprint_ = 0;          // of the live seed
  int64_t num_germinated_ = 0;
  bool structure_changed_ = false;  // a seed was fossilised since the snapshot
  std::vector<GrowthEvent> events_;
};

std::optional<SeedReport> HostGame::SeedNow() const {
  const models::SeedState* const seed = host_->seed();
  if (seed == nullptr) return std::nullopt;
  const models::SeedMetrics& metrics = seed->metrics;
  SeedReport report = {.stage = seed->stage,
                       .previous_stage = seed->previous_stage,
                       .blueprint = blueprint_,
                       .epochs_in_stage = metrics.epochs_in_current_stage,
                       .previous_epochs_in_stage = seed->previous_epochs_in_stage,
                       .age = metrics.epochs_total,
                       .params = host_->active_seed_params(),
                       .alpha = seed->alpha,
                       .stage_improvement = metrics.ImprovementSinceStageStart(),
                       .total_improvement = metrics.TotalImprovement(),
                       .germination_accuracy = metrics.initial_val_accuracy,
                       .counterfactual = metrics.counterfactual_contribution};
  if (trained_.gradients) {
    report.gradient_norm = Safe(trained_.gradients->gradient_norm, kMostNorm, kMostNorm);
    report.gradient_health = Safe(trained_.gradients->gradient_health, 0);
    report.is_vanishing = trained_.gradients->has_vanishing;
    report.is_exploding = trained_.gradients->has_exploding;
  }
  return report;
}

GrowthReport HostGame::ReportNow() const {
  GrowthReport report = report_;
  report.seed = SeedNow();
  report.embargo_epochs = host_->embargo_remaining();
  report.fossil_params = host_->fossil_params();
  return report;
}

void HostGame::TakeSlotEvents() {
  for (const models::SlotEvent& event : host_->TakeEvents()) events_.push_back(EventOf(event));
}

std::vector<GrowthEvent> HostGame::TakeEvents() {
  TakeSlotEvents();
  return std::move(events_);
}

absl::StatusOr<models::HostEvaluation> HostGame::RollBack(int64_t epoch, const Panic& panic) {
  TakeSlotEvents();
  events_.push_back(Rollback(epoch, panic));
  RETURN_IF_ERROR(host_->Rollback(*snapshot_, Describe(panic.reason)));
  structure_changed_ = false;
  trained_.gradients.reset();
  ASSIGN_OR_RETURN(const models::HostEvaluation restored, Validate());
  if (std::isfinite(restored.mean_loss)) return restored;
  return absl::InternalError(absl::StrCat("a host was rolled back after epoch ", epoch,
                                          ", and its loss is still not a number: use a lower "
                                          "morphogenesis.host_learning_rate"));
}

absl::StatusOr<GrowthReport> HostGame::PlayEpoch(int64_t epoch) {
  parts_.examples.TrainingEpoch(host_seed_, epoch, &batches_);
  ASSIGN_OR_RETURN(trained_, host_->TrainOneEpoch(batches_.batches));
  ASSIGN_OR_RETURN(models::HostEvaluation validated, Validate());
  // A loss of training that is not a number is as bad as one of the validation.
  const bool is_finite = std::isfinite(trained_.MeanLoss());
  const std::optional<Panic> panic = governor_.Check(is_finite ? validated.mean_loss : trained_.MeanLoss());
  if (panic) {
    ASSIGN_OR_RETURN(validated, RollBack(epoch, *panic));
  }
  host_->RecordAccuracy(validated.accuracy);
  const models::SeedState* const seed = host_->seed();
  if (seed != nullptr && seed->alpha > 0) {
    ASSIGN_OR_RETURN(const models::HostEvaluation without, Validate(0.0));
    host_->SetCounterfactual(validated.accuracy - without.accuracy);
  }
  host_->StepEpoch();
  report_ = {.measures = {.train_loss = Safe(trained_.MeanLoss(), kBadLoss, kMostNorm),
                          .train_accuracy = is_finite ? trained_.Accuracy() : 0,
                          .val_loss = Safe(validated.mean_loss, kBadLoss, kMostNorm),
                          .val_accuracy = validated.accuracy},
             .host_gradient_norm = Safe(trained_.host_gradient_norm, kMostNorm, kMostNorm),
             .was_rolled_back = panic.has_value()};
  return ReportNow();
}

absl::Status HostGame::Germinate(int64_t blueprint) {
  const std::string seed_id = absl::StrCat("seed_", num_germinated_ + 1);
  const std::string& name = parts_.rules.actions.blueprint_names()[blueprint];
  RETURN_IF_ERROR(host_->Germinate(name, seed_id).status());
  blueprint_ = blueprint;
  ++num_germinated_;
  trained_.gradients.reset();
  return absl::OkStatus();
}

absl::Status HostGame::Act(int64_t epoch, const GrowthAction& action) {
  switch (action.kind) {
    case GrowthActionKind::kWait:
      break;
    case GrowthActionKind::kGerminate:
      RETURN_IF_ERROR(Germinate(action.blueprint));
      break;
    case GrowthActionKind::kFossilize: {
      TakeSlotEvents();
      const models::GateResult gate = host_->AdvanceStage(Stage::kFossilized);
      structure_changed_ = structure_changed_ || gate.passed;
      if (!gate.passed) events_.push_back(GateFailure(epoch, host_->seed(), Stage::kFossilized, gate));
      break;
    }
    case GrowthActionKind::kCull:
      host_->Cull("chosen by the controller");
      break;
  }
  TakeSlotEvents();
  // A fossil of an epoch with an anomaly is in the snapshot of the first epoch without one.
  if (governor_.NeedsSnapshot(epoch, structure_changed_)) {
    ASSIGN_OR_RETURN(snapshot_, host_->TakeSnapshot());
    structure_changed_ = false;
  }
  return absl::OkStatus();
}

}  // namespace

models::SessionOptions MakeSessionOptions(const MorphogenesisConfig& config, const GrowthRules& rules) {
  models::SessionOptions options;
  options.task = rules.task;
  options.host_sgd = {
      .learning_rate = config.host_learning_rate, .momentum = config.momentum, .weight_decay = config.weight_decay};
  options.seed_sgd = {.learning_rate = config.seed_learning_rate, .momentum = config.momentum};
  options.slot.blend_gradient =
      config.detaches_blending ? models::BlendGradient::kDetached : models::BlendGradient::kThroughHost;
  options.on_batch = MarkActivity;
  options.slot.embargo_epochs = static_cast<int>(config.embargo_epochs);
  return options;
}

absl::StatusOr<PlayedGrowth> PlayGrowth(const GrowthDeps& parts, uint64_t host_seed, const ChooseGrowth& choose) {
  ASSIGN_OR_RETURN(std::unique_ptr<models::HostSession> host,
                   models::HostSession::Create(MakeSessionOptions(parts.config, parts.rules), {.seed = host_seed}));
  ASSIGN_OR_RETURN(std::shared_ptr<const models::HostSnapshot> snapshot, host->TakeSnapshot());
  HostGame game(parts, host_seed, std::move(host), std::move(snapshot));
  PlayedGrowth played = {.host_params = game.host_params()};
  GrowthEpisode episode(parts.rules, played.host_params);
  for (int64_t epoch = 1; epoch <= parts.rules.task.max_epochs; ++epoch) {
    ASSIGN_OR_RETURN(const GrowthReport report, game.PlayEpoch(epoch));
    ASSIGN_OR_RETURN(const GrowthState state, episode.Observe(report));
    const GrowthChoice choice = choose(state, report);
    if (state.allowed_A[choice.action] == 0) {
      return absl::InternalError(absl::StrCat("the controller chose ", parts.rules.actions.ActionName(choice.action),
                                              " after epoch ", epoch, ", which is not allowed there"));
    }
    played.report_T1.push_back(report);
    played.action_T.push_back(static_cast<int32_t>(choice.action));
    played.logprob_T.push_back(choice.logprob);
    const GrowthAction action = parts.rules.actions.At(choice.action);
    episode.Take(action.kind);
    RETURN_IF_ERROR(game.Act(epoch, action));
  }
  played.report_T1.push_back(game.ReportNow());
  played.events = game.TakeEvents();
  return played;
}

}  // namespace reprise::rl
