// The forward pass of a slot, and what it holds.

#include <algorithm>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/blend_ops.h"
#include "models/morphogenesis/networks/slot.h"

namespace reprise::models {
namespace {

// Whether a seed keeps the shape of its input, which its blueprint promises.
absl::Status SmokeTest(Topology topology, const SeedModule& module, int64_t channels) {
  const at::NoGradGuard no_gradients;
  const at::Tensor probe = topology == Topology::kCnn ? NewFloats({1, 8, 8, channels}) : NewFloats({2, 4, channels});
  float* const values = MutableData(probe);
  for (int64_t i = 0; i < probe.numel(); ++i) values[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
  const at::Tensor result = module.Forward(probe);
  if (result.sizes() == probe.sizes()) return absl::OkStatus();
  return absl::InternalError("a seed does not keep the shape of its input");
}

}  // namespace

at::Tensor Slot::Forward(const at::Tensor& h) {
  at::Tensor grown = h;
  for (const Fossil& fossil : fossils_) grown = fossil.module->Forward(grown);
  return module_ != nullptr && IsActive(state_->stage) ? Grow(grown) : grown;
}

at::Tensor Slot::Grow(const at::Tensor& h) {
  const float share = static_cast<float>(alpha());
  if (share == 0 && !at::GradMode::is_enabled()) return h;
  const bool in_training = state_->stage == Stage::kTraining;
  if (share == 0 && (in_training || state_->stage == Stage::kBlending)) {
    const bool isolate = !in_training || options_.isolate_training;
    return StraightThrough(h, module_->Forward(isolate ? h.detach() : Probe(h, &passed_through_input_)));
  }
  const bool detach = in_training || options_.blend_gradient == BlendGradient::kDetached;
  const at::Tensor input = in_training && options_.isolate_training ? h.detach() : h;
  return Blend(detach ? h.detach() : h, module_->Forward(input), share);
}

absl::StatusOr<GateResult> Slot::Germinate(const Blueprint& blueprint, const std::string& seed_id,
                                           std::optional<double> baseline, const EpisodeCoordinates& episode) {
  RETURN_IF_ERROR(CheckGermination(blueprint));
  ASSIGN_OR_RETURN(std::shared_ptr<SeedModule> module,
                   BuildSeed(topology_, blueprint, point_.channels, episode, seeds_germinated_));
  RETURN_IF_ERROR(SmokeTest(topology_, *module, point_.channels));
  SeedState state;
  state.seed_id = seed_id.empty() ? absl::StrCat(point_.slot_id, "-", blueprint.name) : seed_id;
  state.blueprint_id = blueprint.name;
  state.slot_id = point_.slot_id;
  if (baseline.has_value()) state.metrics.RecordBaseline(*baseline);
  const GateResult gate = CheckGate(state, Stage::kGerminated, options_.thresholds);
  if (!gate.passed) return gate;
  state.Transition(Stage::kGerminated, epoch_);
  module_ = std::move(module);
  state_ = std::move(state);
  ++seeds_germinated_;
  events_.push_back(EventOf(SlotEventKind::kGerminated, *state_, Stage::kDormant));
  events_.back().to = Stage::kGerminated;
  return gate;
}

void Slot::SetAlpha(double alpha) {
  if (module_ == nullptr) return;
  state_->alpha = std::clamp(alpha, 0.0, 1.0);
  state_->metrics.current_alpha = state_->alpha;
}

double Slot::alpha() const {
  if (module_ == nullptr) return 0;
  return forced_alpha_.has_value() ? *forced_alpha_ : state_->alpha;
}

void Slot::RecordGradients(const GradientStatistics& statistics, double seed_to_host_ratio) {
  if (module_ == nullptr) return;
  SeedMetrics& metrics = state_->metrics;
  const auto old = [&](double value) { return metrics.has_gradients ? std::optional<double>(value) : std::nullopt; };
  metrics.seed_gradient_norm_ratio = ExponentialAverage(old(metrics.seed_gradient_norm_ratio), seed_to_host_ratio);
  metrics.gradient_norm_avg = ExponentialAverage(old(metrics.gradient_norm_avg), statistics.true_norm);
  metrics.has_gradients = true;
  state_->is_healthy = statistics.nan_count == 0 && statistics.inf_count == 0;
}

void Slot::RecordIsolation() {
  if (module_ == nullptr || state_->stage != Stage::kTraining) return;
  monitor_.Record(std::exchange(passed_through_input_, 0.0));
  state_->metrics.isolation_violations = monitor_.violations();
}

bool Slot::IsLearning() const {
  return module_ != nullptr && state_->stage >= Stage::kGerminated && state_->stage <= Stage::kProbationary;
}

NamedTensors Slot::seed_parameters() const { return module_ == nullptr ? NamedTensors() : module_->parameters(); }

int64_t Slot::fossil_params() const {
  int64_t params = 0;
  for (const Fossil& fossil : fossils_) params += ElementsOf(fossil.module->parameters());
  return params;
}

SlotEvent Slot::EventOf(SlotEventKind kind, const SeedState& seed, Stage from) const {
  SlotEvent event;
  event.kind = kind;
  event.epoch = epoch_;
  event.seed_id = seed.seed_id;
  event.slot_id = seed.slot_id;
  event.blueprint_id = seed.blueprint_id;
  event.from = from;
  event.to = kind == SlotEventKind::kFossilized ? Stage::kFossilized : Stage::kUnknown;
  event.params = active_seed_params();
  event.improvement = seed.metrics.TotalImprovement();
  event.blending_delta = seed.metrics.BlendingDelta();
  event.counterfactual = seed.metrics.counterfactual_contribution;
  event.epochs_total = seed.metrics.epochs_total;
  event.epochs_in_stage = seed.metrics.epochs_in_current_stage;
  return event;
}

std::vector<SlotEvent> Slot::TakeEvents() { return std::exchange(events_, {}); }

SlotContents Slot::Contents() const {
  SlotContents contents;
  (module_ == nullptr ? contents.resting : contents.seed) = state_;
  contents.module = module_;
  contents.embargo_remaining = embargo_remaining_;
  contents.seeds_germinated = seeds_germinated_;
  contents.fossils = fossils_;
  return contents;
}

void Slot::SetContents(SlotContents contents) {
  Empty();
  module_ = std::move(contents.module);
  state_ = std::move(module_ == nullptr ? contents.resting : contents.seed);
  if (module_ != nullptr) monitor_ = GradientIsolationMonitor(1e-6, state_->metrics.isolation_violations);
  embargo_remaining_ = contents.embargo_remaining;
  seeds_germinated_ = contents.seeds_germinated;
  fossils_ = std::move(contents.fossils);
  for (const Fossil& fossil : fossils_) RequireGradients(false, fossil.module->parameters());
}

}  // namespace reprise::models
